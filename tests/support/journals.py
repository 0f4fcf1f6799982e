"""Journals of fault servers: their processes and the calls that arrived."""

from __future__ import annotations

from pathlib import Path

from .processes import is_running


def pids_in(journal: Path) -> list[int]:
    """Return the servers that were started, and what they started."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith(("pid ", "child "))]


def none_runs(journal: Path) -> bool:
    """Return whether all of them have ended."""
    return not any(is_running(pid) for pid in pids_in(journal))


def calls_in(journal: Path) -> int:
    """Return the number of calls that arrived so far."""
    return journal.read_text(encoding="utf-8").count("tools/call ") if journal.exists() else 0
