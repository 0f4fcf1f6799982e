"""Memory of this process, and how much of it is in use."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc

import psutil

_MEGABYTE = 1024 * 1024


def held_mb() -> float:
    """Return the memory that the system has given to this process."""
    return psutil.Process().memory_info().rss / _MEGABYTE


def used_mb() -> float:
    """Return the same after garbage collection, without what the C library only caches.

    Where it can be asked. It keeps much after large results, in several threads; that would hide a
    leak, or look like one.
    """
    gc.collect()
    library = ctypes.util.find_library("c")
    trim = getattr(ctypes.CDLL(library), "malloc_trim", None) if library else None
    if trim is not None:
        trim(0)
    return held_mb()
