"""Limits of calls in time: which there may be, and what is left of one."""

from __future__ import annotations

import math
from typing import TypeVar

from .errors import BadSetting

_SHORTEST_SECONDS = 0.1  # enough to ask at all
_Limit = TypeVar("_Limit", float, float | None)


def left_of(limit: _Limit, spent_seconds: float) -> _Limit:
    """What is left of a call's limit; without one there is none."""
    return limit if limit is None else max(limit - spent_seconds, _SHORTEST_SECONDS)


def checked_limit(seconds: float | None) -> float | None:
    """A limit as a program gives it.

    Raises:
        BadSetting: it is no number above 0.
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is None or (is_number and 0 < seconds < math.inf):
        return seconds
    raise BadSetting(f"`timeout_seconds` is {seconds!r}. Give a number above 0, or None.")
