"""Names that published model code imports and that transformers 5 no longer has.

ArmoRM and QRM decorate their forward with a text that older versions kept for documentation. It shapes no number, but
without it their files cannot even be imported. While such a file is loaded the names are there again, empty.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

_DOCUMENTATION = {
    "transformers.models.llama.modeling_llama": ("LLAMA_INPUTS_DOCSTRING", "LLAMA_START_DOCSTRING"),
    "transformers.models.gemma2.modeling_gemma2": ("GEMMA2_INPUTS_DOCSTRING", "GEMMA2_START_DOCSTRING"),
    "transformers.models.mistral.modeling_mistral": ("MISTRAL_INPUTS_DOCSTRING", "MISTRAL_START_DOCSTRING"),
}


@contextmanager
def removed_names() -> Iterator[None]:
    """Put the names back for the length of the block."""
    added = []
    for path, names in _DOCUMENTATION.items():
        module = importlib.import_module(path)
        for name in names:
            if not hasattr(module, name):
                setattr(module, name, "")
                added.append((module, name))
    try:
        yield
    finally:
        for module, name in added:
            delattr(module, name)
