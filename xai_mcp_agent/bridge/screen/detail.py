"""How much a run prints: `quiet`, `normal` or `verbose`, by a node's port or the environment."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any

from ..ports import BadSetting

VARIABLE = "XAI_MCP_SHOW"


class Detail(IntEnum):
    """quiet: only what went wrong. normal: what happens, long texts cut. verbose: all of it."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_CHOICES = ", ".join(x.name.lower() for x in Detail)


def detail_on(port: Any) -> Detail | None:
    """What the port `show` of a node asks for; None when it was left alone.

    Raises:
        BadSetting: something else.
    """
    if port is None or port == "":
        return None
    found = _detail(port)
    if found is None:
        raise BadSetting(f"`show` is {port!r}. Set one of: {_CHOICES}; or leave it empty.")
    return found


def detail_of_environment() -> tuple[Detail, str]:
    """What the environment asks for, and what is wrong with that, if anything."""
    value = os.environ.get(VARIABLE, "")
    found = _detail(value)
    if found is not None or not value.strip():
        return found if found is not None else Detail.NORMAL, ""
    return Detail.NORMAL, (
        f"The environment variable {VARIABLE} is {value!r}. Set it to one of: {_CHOICES}. "
        "Until then runs print as with `normal`."
    )


def _detail(value: Any) -> Detail | None:
    name = value.strip().upper() if isinstance(value, str) else ""
    return Detail[name] if name in Detail.__members__ else None
