"""The tables by name, with the function that records each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from . import agents, attacks, commands, faults, life
from .tables import Rows

Recorder: TypeAlias = Callable[[Path], Rows]

RECORDERS: dict[str, Recorder] = {
    "life": life.record,
    "agents": agents.record,
    "attacks": attacks.record,
    "commands": commands.record,
    "faults": faults.record,
}
CHECKED_BY_THE_FAULT_SUITE = "faults"


@cache
def current_rows(name: str) -> Rows:
    """Record the current rows of a table, once in a process."""
    with TemporaryDirectory(prefix="oracle-") as folder:
        return RECORDERS[name](Path(folder).resolve())
