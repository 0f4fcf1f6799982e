"""Finding tools that a request does not show: `tool_search` and `tool_explain` as a toolset."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from anyio import to_thread

from ..core.calls import ToolInvocation
from ..core.examples import example_arguments
from ..core.results import ToolResult
from ..core.tools import META, Tool, ToolKey
from ..search.meta_tools import (
    DEFAULT_RESULTS,
    META_TOOLS,
    MOST_RESULTS,
    TOOL_EXPLAIN,
    TOOL_SEARCH,
    Finding,
    explain_answer,
    names_in,
    search_answer,
    unknown_answer,
)
from ..search.ranking import Ranked
from .calls import Answered
from .messages import Message, text_of
from .planning_tools import PLAN_TOOLS, SELECT_TOOL
from .toolsets import Available, Learn, Toolset

Search: TypeAlias = Callable[[str, Mapping[ToolKey, Tool], int], Awaitable[Sequence[Ranked[Tool]]]]
"""Finds so many of these tools at most by what somebody wants to do, the best first."""

_SUGGESTED = 3
# What they answer with, a model has found; and those by words that may be learned.
_FINDING = frozenset(x.key for x in (*META_TOOLS, SELECT_TOOL, PLAN_TOOLS))
_QUERIES = {TOOL_SEARCH.key: "query", SELECT_TOOL.key: "request"}
_FIRST_NAME = re.compile(r"^[\w-]{1,64}(?=\()", re.ASCII | re.MULTILINE)
_EXPLAINED_NAME = re.compile(r'\A\{"name": "([\w-]{1,64})"', re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^\w-]+", re.ASCII)


class DiscoveryToolset(Toolset):
    """The two tools with which a model finds the others.

    `available` tells those of the agent now: they may be others than when the model was asked.
    `called_with` is the tool that calls them, where they are not called themselves.
    """

    def __init__(
        self,
        search: Search,
        available: Callable[[], Awaitable[Available]],
        called_with: str = "",
    ) -> None:
        self._search = search
        self._available = available
        self._called_with = called_with

    async def tools(self) -> Sequence[Tool]:
        """Both of them."""
        return META_TOOLS

    def known(self) -> Sequence[Tool]:
        """Both of them."""
        return META_TOOLS

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Search, or explain a tool."""
        given, available = invocation.arguments, await self._available()
        if invocation.tool.key != TOOL_SEARCH.key:
            return await self._explain(str(given["tool"]), available)
        most = int(given.get("max_results", DEFAULT_RESULTS))
        found = await self._found(given["query"], available, min(max(most, 1), MOST_RESULTS))
        return search_answer(found, available.sources, self._called_with)

    async def _explain(self, name: str, available: Available) -> ToolResult:
        found = available.find(name) or available.find(_NOT_IN_NAMES.sub("_", name))
        if found is None:
            findings = await self._found(name, available, _SUGGESTED)
            return unknown_answer(available.unknown(name), findings)
        # In a thread: schemas are strangers' words.
        example = await to_thread.run_sync(example_arguments, found.tool.input_schema)
        return explain_answer(found, example, self._called_with)

    async def _found(self, query: str, available: Available, most: int) -> list[Finding]:
        by_key = {x.tool.key: x for x in available.definitions if x.tool.key.kind != META.name}
        hits = await self._search(query, {key: x.tool for key, x in by_key.items()}, most)
        return [Finding(by_key[x.tool.key], x.score) for x in hits]


class Finds:
    """What the calls of a run found and used. `asked` are the words of the person who began it."""

    def __init__(self, asked: str, learn: Learn) -> None:
        self._asked = asked
        self._learn = learn
        self._queries: dict[ToolKey, str] = {}  # by what they found

    def of(self, answers: Iterable[Answered], available: Available) -> list[ToolKey]:
        """The tools that these calls used, or found, in their order."""
        found = (key for x in answers for key in _found_by(x, available))
        return [key for key in found if key.kind != META.name]

    def learn(self, answers: Iterable[Answered], available: Available) -> None:
        """Remember what led to the tools that were used with success."""
        for answer in answers:
            if answer.is_error:
                continue
            keys = [x for x in _found_by(answer, available) if x.kind != META.name]
            meta_key = _meta_key(answer.event.tool, available)
            if meta_key in _QUERIES:
                query = str((answer.event.arguments or {}).get(_QUERIES[meta_key], ""))
                self._queries |= dict.fromkeys(keys, query)
            elif meta_key is None:
                for key in keys:
                    intents = [self._asked, self._queries.get(key, "")]
                    self._learn(key, [x for x in intents if x.strip()])


def _found_by(answer: Answered, available: Available) -> Iterable[ToolKey]:
    names = [answer.event.tool]  # of `execute_tool` the one that was called
    if _meta_key(names[0], available):
        # The best comes last, as the newest: where there is no room, the others give way first.
        names = names_in(answer.event.result.structured)[::-1]
    return [x.tool.key for x in map(available.find, names) if x]


def found_in(messages: Iterable[Message], available: Available) -> tuple[ToolKey, ...]:
    """The tools that a conversation has found or called, the newest last.

    What a conversation of before says: so tools stay known when it goes on in another run.
    """
    found: dict[ToolKey, None] = {}
    for name in _names_in(list(messages), available):
        definition = available.find(name)
        if definition is not None and definition.tool.key.kind != META.name:
            found.pop(definition.tool.key, None)
            found[definition.tool.key] = None
    return tuple(found)


def _names_in(messages: list[Message], available: Available) -> Iterable[str]:
    telling: dict[str, ToolKey] = {}  # which of the two each call of the last turn was, by its id
    for message in messages:
        text = text_of(message)
        match message:
            case {"role": "assistant", "tool_calls": [*_]}:
                named = list(map(_id_and_name, message["tool_calls"]))
                telling = {id_: key for id_, name in named if (key := _meta_key(name, available))}
                yield from (name for _, name in named)
            case {"role": "tool", "tool_call_id": str(id_)}:
                yield from _told(telling.get(id_), text)
            case _:
                pass


def _told(by: ToolKey | None, answer: str) -> list[str]:
    """The names in an answer of one of these; the best of a search last."""
    if by in _QUERIES:
        return _FIRST_NAME.findall(answer)[::-1]
    return _EXPLAINED_NAME.findall(answer) if by == TOOL_EXPLAIN.key else []


def _id_and_name(call: Any) -> tuple[str, str]:
    match call:
        case {"id": str(id_), "function": {"name": str(name)}}:
            return id_, name
        case _:
            return "", ""


def _meta_key(name: str, available: Available) -> ToolKey | None:
    """The key of one that finds others, if that is what a model calls so."""
    definition = available.find(name)
    is_one = definition is not None and definition.tool.key in _FINDING
    return definition.tool.key if definition and is_one else None
