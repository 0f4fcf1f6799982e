"""The tools that a run or a conversation has found or used, and the requests that led to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.json import as_object
from ..core.tools import META, ToolKey
from ..search.meta_tools import META_TOOLS, TOOL_EXPLAIN, TOOL_SEARCH, names_in
from .events import ToolFinished
from .messages import Message, calls_of, text_of, with_calls
from .meta_tools import PLAN_TOOLS, SELECT_TOOL
from .toolsets import Available, Learn

# Tools in the answers of these tools count as found.
_FINDERS = frozenset(x.key for x in (*META_TOOLS, SELECT_TOOL, PLAN_TOOLS))
# The argument that says what the model searches for, which may be learned.
_QUERY_ARGUMENTS = {TOOL_SEARCH.key: "query", SELECT_TOOL.key: "request"}
_FIRST_NAME = re.compile(r"^[\w-]{1,64}(?=\()", re.ASCII | re.MULTILINE)
_EXPLAINED_NAME = re.compile(r'\A\{"name": "([\w-]{1,64})"', re.ASCII)


class IntentLearner:
    """Learns which requests led to the tools that a run used. `request` is the person's."""

    def __init__(self, request: str, learn: Learn) -> None:
        self._request = request
        self._learn = learn
        self._queries: dict[ToolKey, str] = {}  # by the tools they found

    def learn(self, calls: Iterable[ToolFinished], available: Available) -> None:
        """Learn from the calls that succeeded."""
        for call in calls:
            key = call.key
            if call.result.is_error or key is None:
                continue
            if key in _QUERY_ARGUMENTS:
                query = str((call.arguments or {}).get(_QUERY_ARGUMENTS[key], ""))
                self._queries |= dict.fromkeys(discovered_by([call], available), query)
            elif key.kind != META.name:
                intents = [self._request, self._queries.get(key, "")]
                self._learn(key, [x for x in intents if x.strip()])


def discovered_by(calls: Iterable[ToolFinished], available: Available) -> list[ToolKey]:
    """Return the tools that these calls used, or found, in order."""
    keys: list[ToolKey] = []
    for call in calls:
        key = call.key  # for `execute_tool`, the key of the called tool
        if key in _FINDERS:
            # The best comes last, as the newest: if room is short, the others give way first.
            names = names_in(call.result.structured)[::-1]
            keys += [x.tool.key for x in map(available.find, names) if x]
        elif key and key.kind != META.name:
            keys.append(key)
    return keys


def discovered_in(messages: Iterable[Message], available: Available) -> list[ToolKey]:
    """Return the tools that a conversation has found or called, in order, perhaps repeatedly.

    It reads an earlier run's messages too, so the tools are still there when a conversation goes on
    in another run.
    """
    definitions = map(available.find, _names_in(messages, available))
    return [x.tool.key for x in definitions if x and x.tool.key.kind != META.name]


def _names_in(messages: Iterable[Message], available: Available) -> Iterable[str]:
    for message, call in with_calls(messages):
        yield from map(_tool_name, calls_of(message))
        definition = available.find(_tool_name(call))
        if definition and definition.tool.key in _QUERY_ARGUMENTS:
            yield from _FIRST_NAME.findall(text_of(message))[::-1]  # the best last
        elif definition and definition.tool.key == TOOL_EXPLAIN.key:
            yield from _EXPLAINED_NAME.findall(text_of(message))


def _tool_name(call: Mapping[str, Any]) -> str:
    return str(as_object(call.get("function")).get("name"))
