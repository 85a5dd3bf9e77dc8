"""Training a reward model: data policy, packing, loss, trainer."""
