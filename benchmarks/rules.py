"""Cost of fifty rules for a call; some of them derive words for others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.policy.conditions import Facts
from xai_mcp_agent.policy.rulebook import RuleBook
from xai_mcp_agent.settings.load import settings_from

from .rows import Row, size

_CALLS, _ROUNDS = size(2_000, 20), size(5, 1)
_RULES, _TOOLS = 50, size(5_000, 20)
_TARGET_MS = 0.5


def _rules() -> Iterator[dict[str, Any]]:
    for number in range(_RULES):
        when = {"tool": [f"*write_{number}*", f"send_{number % 7}*"], "args.path": f"*.k{number}"}
        if number % 5 == 0:
            yield {"when": when, "then": {"is": f"word_{number}"}}
        elif number % 5 == 1:
            yield {"when": {"is": f"word_{number - 1}", "agent": "not coder"}, "then": "ask"}
        else:
            yield {"when": when, "unless": {"time": "22:00-06:00"}, "then": "deny"}


def rows() -> Iterator[Row]:
    """Measure the processor time, of the quickest round."""
    rules = settings_from({"mcpServers": {}, "rules": [*_rules()]}).rules
    book = RuleBook(rules, str)
    caller, now = Caller("agent", "helper"), datetime(2026, 11, 23, 12, 0)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [Tool(ToolKey("mcp", "s", f"send_{x}_write_{x}"), "", schema) for x in range(_TOOLS)]

    def calls() -> Iterator[Facts]:
        for x in range(_CALLS):
            yield Facts(tools[x], caller, {"path": f"a.k{x % 60}"}, now)

    def offer() -> Iterator[Facts]:
        return (Facts(x, caller) for x in tools)

    one = _least(lambda: book, calls)
    yield Row(f"{_RULES} rules, one call", one / _CALLS * 1e3, " ms", _TARGET_MS)
    first = _least(lambda: RuleBook(rules, str), offer)
    yield Row(f"{_RULES} rules, which of {_TOOLS:,} new tools to offer", first, " s")
    again = _least(lambda: book, offer)
    yield Row(f"{_RULES} rules, which of {_TOOLS:,} known tools to offer", again, " s", 0.1)


def _least(book_of: Callable[[], RuleBook], calls: Callable[[], Iterable[Facts]]) -> float:
    """The seconds of processor time of the quickest round."""
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        book, started = book_of(), time.process_time()
        for call in calls():
            book.ruling(call)
        rounds.append(time.process_time() - started)
    return min(rounds)
