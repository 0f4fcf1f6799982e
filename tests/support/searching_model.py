"""A scripted model that has a task and must find its tool: a function of each request's body.

It does what models do with tools that they are not shown: searches with the person's words, calls
one of what was found with arguments by its schema, and when a call is refused, has the tool
explained and tries once more. Which of the found ones is the right one no script can know; so there
are two, between which models are: one takes the first, one knows the right one when it sees it, and
searches once more for further ones when it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xai_mcp_agent.agent.messages import format_call, text_of
from xai_mcp_agent.core.schemas import example_arguments

from .model_endpoint import Step, calls, says

_MORE_RESULTS = 20
_TOOL = re.compile(r"^- (\S+):.*\n  arguments: (\{.*\})$", re.MULTILINE)
_RESULT = re.compile(
    r"^TOOL RESULT (\S+?)( \(error\))?:\n(.*?)(?=\n\nTOOL RESULT |\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class SearchingModel:
    """A script for a model endpoint.

    `needed` are the names, as they are shown, of the tools that a task needs, any of which will do,
    by the task's words; where there are none, the first that is found is taken.
    """

    needed: Mapping[str, frozenset[str]]

    def __call__(self, body: dict[str, Any]) -> Step:
        seen = _Seen.of(body)
        wanted = self.needed.get(seen.asked)
        if wanted is None:
            names = _names(seen.results("tool_search"))[:1]
        else:
            names = [x for x in seen.offered if x in wanted][:1]
        call = _use(seen, names[0]) if names else _search(seen, may_repeat=wanted is not None)
        if call is None:
            return says("Done.")
        return says(format_call(call[0], json.dumps(call[1]))) if seen.in_text else calls(call)


_Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class _Seen:
    """A request as the script reads it: what is offered, and what was called, with its result."""

    asked: str
    offered: dict[str, dict[str, Any]]  # parameters by name
    called: Sequence[tuple[str, str, bool]]  # name, result, whether it failed
    in_text: bool

    @classmethod
    def of(cls, body: dict[str, Any]) -> _Seen:
        messages: list[dict[str, Any]] = body["messages"]
        told = [text_of(x) for x in messages if x["role"] == "user"]
        native = [x["function"] for x in body.get("tools", ())]
        if native:
            offered = {x["name"]: x["parameters"] for x in native}
            return cls(told[0], offered, _answered(messages), False)
        described = {name: json.loads(x) for name, x in _TOOL.findall(text_of(messages[0]))}
        results = [(name, text, bool(e)) for x in told for name, e, text in _RESULT.findall(x)]
        return cls(told[0], described, results, True)

    def results(self, name: str) -> list[str]:
        return [text for called, text, _ in self.called if called == name]


def _use(seen: _Seen, name: str) -> _Call | None:
    """Call it; after a refusal have it explained, and call it once more."""
    tries = [is_error for called, _, is_error in seen.called if called == name]
    explained = seen.results("tool_explain")
    if not tries:
        return name, example_arguments(seen.offered.get(name, {}))
    if not tries[-1] or len(tries) > 1:
        return None
    if not explained:
        return "tool_explain", {"tool": name}
    return name, example_arguments(_definition(explained[-1]).get("parameters", {}))


def _search(seen: _Seen, *, may_repeat: bool) -> _Call | None:
    searched = len(seen.results("tool_search"))
    if "tool_search" not in seen.offered or searched > may_repeat:
        return None
    more = {"max_results": _MORE_RESULTS} if searched else {}
    return "tool_search", {"query": seen.asked, **more}


def _definition(explained: str) -> dict[str, Any]:
    head = explained.partition("\nExample: ")[0]
    return json.loads(head) if head.startswith("{") else {}


def _names(results: Sequence[str]) -> list[str]:
    """What searches found, in its order."""
    lines = [line for x in results for line in x.splitlines() if "(" in line]
    return [x.partition("(")[0] for x in lines]


def _answered(messages: Sequence[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    told = [(names[x["tool_call_id"]], text_of(x)) for x in messages if x["role"] == "tool"]
    return [(name, text, text.startswith("ERROR")) for name, text in told]
