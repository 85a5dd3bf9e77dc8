"""From stories to rewards: reward models, judges, the reward store."""
