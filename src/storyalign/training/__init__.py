"""Training a reward model: data policy, packing, loss, trainer."""

from importlib.util import find_spec

from storyalign.errors import MissingExtraError

for _package in ("torch", "transformers", "accelerate", "trl", "safetensors"):
    if find_spec(_package) is None:
        raise MissingExtraError("train", _package)
