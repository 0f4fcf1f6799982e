"""What a request goes on from in a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from .searching import ToolSearch


@dataclass(frozen=True)
class Situation:
    """The state of a conversation in which something is asked for.

    `today` is what "tomorrow" goes by. Tools are named by their keys: those `called` since the
    request, and the `last_tool` before it, for "and in Paris?". `has_results`: there are results of
    earlier requests that "it" can mean. `search` is for tools that the planner does not have.
    """

    today: date
    called: frozenset[Any] = frozenset()
    last_tool: Any = None
    has_results: bool = False
    search: ToolSearch = field(default_factory=ToolSearch)
