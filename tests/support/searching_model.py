"""A scripted model that has a task and must search for its tool: a function of a request's body.

It does what models do with tools that they are not shown: it searches with the person's words,
calls a result with arguments by its schema, and after a refused call it asks for an explanation of
the tool and calls once more. No script can know which result is the right one, so there are two
scripts, and real models are between them: one takes the first result; the other recognises the
right one, and searches once more when it is not there.
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

    `needed` has the shown names of the tools that do a task, by its request; for a request that is
    not there the model takes the first result.
    """

    needed: Mapping[str, frozenset[str]]

    def __call__(self, body: dict[str, Any]) -> Step:
        turn = _Turn.of(body)
        needed = self.needed.get(turn.request)
        if needed is None:
            names = _names(turn.results("tool_search"))[:1]
        else:
            names = [x for x in turn.parameters if x in needed][:1]
        call = _use(turn, names[0]) if names else _search(turn, may_repeat=needed is not None)
        if call is None:
            return says("Done.")
        return says(format_call(call[0], json.dumps(call[1]))) if turn.in_text else calls(call)


_Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class _Turn:
    """A request as the script reads it: the tools in it, and the calls so far."""

    request: str
    parameters: dict[str, dict[str, Any]]  # by the name of a tool
    calls: Sequence[tuple[str, str, bool]]  # name, result, whether it failed
    in_text: bool

    @classmethod
    def of(cls, body: dict[str, Any]) -> _Turn:
        messages: list[dict[str, Any]] = body["messages"]
        texts = [text_of(x) for x in messages if x["role"] == "user"]
        functions = [x["function"] for x in body.get("tools", ())]
        if functions:
            parameters = {x["name"]: x["parameters"] for x in functions}
            return cls(texts[0], parameters, _native_calls(messages), False)
        parameters = {name: json.loads(x) for name, x in _TOOL.findall(text_of(messages[0]))}
        results = [(name, text, bool(e)) for x in texts for name, e, text in _RESULT.findall(x)]
        return cls(texts[0], parameters, results, True)

    def results(self, name: str) -> list[str]:
        return [text for tool, text, _ in self.calls if tool == name]


def _use(turn: _Turn, name: str) -> _Call | None:
    """Return the call of a tool; after a refusal, ask for an explanation, then call once more."""
    failures = [is_error for tool, _, is_error in turn.calls if tool == name]
    explanations = turn.results("tool_explain")
    if not failures:
        return name, example_arguments(turn.parameters.get(name, {}))
    if not failures[-1] or len(failures) > 1:
        return None
    if not explanations:
        return "tool_explain", {"tool": name}
    return name, example_arguments(_definition(explanations[-1]).get("parameters", {}))


def _search(turn: _Turn, *, may_repeat: bool) -> _Call | None:
    searches = len(turn.results("tool_search"))
    if "tool_search" not in turn.parameters or searches > may_repeat:
        return None
    more = {"max_results": _MORE_RESULTS} if searches else {}
    return "tool_search", {"query": turn.request, **more}


def _definition(explanation: str) -> dict[str, Any]:
    head = explanation.partition("\nExample: ")[0]
    return json.loads(head) if head.startswith("{") else {}


def _names(results: Sequence[str]) -> list[str]:
    """Return the names in the results of searches, in their order."""
    lines = [line for x in results for line in x.splitlines() if "(" in line]
    return [x.partition("(")[0] for x in lines]


def _native_calls(messages: Sequence[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    results = [(names[x["tool_call_id"]], text_of(x)) for x in messages if x["role"] == "tool"]
    return [(name, text, text.startswith("ERROR")) for name, text in results]
