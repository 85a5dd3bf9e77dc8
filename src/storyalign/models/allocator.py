"""Memory that the C library gives back and asks for again between layers costs more than a tenth of the time."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h
_NEVER = 1 << 30


def keep_freed_memory() -> bool:
    """Make glibc keep freed memory for the next layer; return whether it does. Other C libraries are left alone.

    Without this, each layer's large tensors are unmapped and mapped again, and the system clears every page anew. The
    peak does not rise; what was freed merely stays with the process, so only commands that end afterwards call this.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_THRESHOLD, _NEVER) and mallopt(_TRIM_THRESHOLD, _NEVER))
