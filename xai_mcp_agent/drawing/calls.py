"""Calls to be drawn: what a recorded run, or a plan, comes to before it is a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """A call of one tool. `note` is told beside it.

    `arguments` are JSON that may hold a `Reference`, `Joined` or `Number` anywhere; the
    `result` of a reference is here the place of an earlier call, from 0 on. `missing` are
    parameters that somebody has to give, each with the reason.
    """

    source: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""

    @property
    def name(self) -> str:
        """The call's tool, to read."""
        return f"{self.source}/{self.tool}"
