"""Cost of fifty rules for a call; some rules derive words that others use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.policy.conditions import Facts
from xai_mcp_agent.policy.rulebook import RuleBook
from xai_mcp_agent.settings.load import settings_from

from .rows import Row, processor_seconds, size

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
    """Measure the processor time of the quickest round."""
    rules = settings_from({"mcpServers": {}, "rules": [*_rules()]}).rules
    book = RuleBook(rules, str)
    caller, now = Caller("agent", "helper"), datetime(2026, 11, 23, 12, 0)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [Tool(ToolKey("mcp", "s", f"send_{x}_write_{x}"), "", schema) for x in range(_TOOLS)]

    def calls() -> Iterator[Facts]:
        return (Facts(tools[x], caller, {"path": f"a.k{x % 60}"}, now) for x in range(_CALLS))

    def offers() -> Iterator[Facts]:
        return (Facts(x, caller) for x in tools)

    seconds = _least_seconds(lambda: book, calls)
    yield Row(f"{_RULES} rules, one call", seconds / _CALLS * 1e3, " ms", _TARGET_MS)
    seconds = _least_seconds(lambda: RuleBook(rules, str), offers)
    yield Row(f"{_RULES} rules, which of {_TOOLS:,} new tools to offer", seconds, " s")
    seconds = _least_seconds(lambda: book, offers)
    yield Row(f"{_RULES} rules, which of {_TOOLS:,} known tools to offer", seconds, " s", 0.1)


def _least_seconds(
    make_book: Callable[[], RuleBook], make_facts: Callable[[], Iterator[Facts]]
) -> float:
    def round_seconds(book: RuleBook) -> float:
        return processor_seconds(lambda: [book.ruling(x) for x in make_facts()])

    return min(round_seconds(make_book()) for _ in range(_ROUNDS))
