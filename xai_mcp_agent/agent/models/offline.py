"""The offline model: fixed rules behind the same seam as a real model.

It calls one tool for each clause of a request with the values that the clause states, and shows
results unchanged. It needs no key and no network, stores nothing between turns, and says so when it
cannot help.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from itertools import count
from typing import Any

from anyio.lowlevel import checkpoint

from ...core.json import JsonObject, as_object, canonical_json, clip, is_list, is_object
from ...core.threads import beside_loop
from ...planning.request import read_request
from ...search.meta_tools import MAX_RESULTS, META_TOOLS, TOOL_SEARCH
from ...search.shortening import first_sentence
from ...search.terms import root, terms
from ...search.tools import ToolIndex
from ...steps.results import parse_json_text
from ..messages import Message, ToolCall, calls_of, text_of, with_calls
from ..meta_tools import PLANNING_TOOLS
from .base import ModelReply, ModelRequest, OnAgain, OnText
from .offline_tools import ASKING, GENERIC, OfflineTool, ToolMatch, ToolMatcher, hints_in
from .offline_values import CHANGING, READING, Slot, items_in, number_of, roots_in, words_refer

WHO = "I am the offline model. I follow rules; ask me for one thing a tool can do."
CONNECT = (
    "For a real model, write OPENAI_API_KEY=... into the file .env beside mcp_settings.json, and "
    "set `agent_provider` of AgentInit to `openai` and `agent_model` to the model's name; with "
    "`xai-mcp-agent ask` give `--model openai:NAME`. For one on your own machine, wire an "
    "AgentModel with its `base_url` to `model_settings`, or give `--base-url`."
)
_MAX_REQUEST_CHARS = 6_000
_MAX_EACH, _MAX_LOOKS, _MAX_EXAMPLES = 5, 6, 3
_CHARS_A_TOOL = 50  # of a conversation, read in the time it takes to prepare a tool
_WIDELY = "search list find all"  # words that match some tool of most servers
_RESULT = re.compile(r"(?i)\b(?<!is )(?:it|the (?:result|sum|product|answer))\b")
_EACH = re.compile(r"(?i)\b(?:them|these|those|each|all of|both|every)\b")
_ORDINALS = {"first": 0, "second": 1, "third": 2, "last": -1}
_TALK = re.compile(r"(?i)\W*(?:hi|hello|help|what can (?:you|it|this) do|what tools)\b.{0,20}")
_CHOOSING = frozenset((x.name, x.description) for x in (*PLANNING_TOOLS, *META_TOOLS))


class OfflineModel:
    """A model with fixed rules: same request, same reply; stateless between turns.

    `today` returns the date that words such as "tomorrow" refer to.
    """

    is_program = True
    """It takes functions in each protocol, and its text is the answer verbatim."""
    name = "offline rules"
    calls_functions = True

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self._today = today

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Call the next tools, or answer. Never fails and never waits."""
        await checkpoint()
        chars = sum(len(text_of(x)) for x in request.messages)
        chars += _CHARS_A_TOOL * len(request.functions)
        reply = await beside_loop(chars, partial(_reply, request, self._today()))
        for piece in re.findall(r"\s*(?:\S+\s*){1,4}", reply.text):
            await on_text(piece)
            await checkpoint()
        return reply

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


def _reply(request: ModelRequest, today: date) -> ModelReply:
    route = _route(request)
    return ModelReply(json.dumps({"route": route})) if route else _Turn(request, today).reply()


def _route(request: ModelRequest) -> str:
    """Return the route nearest to the last message; empty if the request is not for a route."""
    match request.output_schema:
        case {"properties": {"route": {"enum": [*names], "description": str(lines)}}}:
            routes = zip(map(str, names), lines.splitlines(), strict=False)
            index = ToolIndex[JsonObject]({"id": x, "name": x, "description": y} for x, y in routes)
            hits = index.search(text_of(request.messages[-1])[:_MAX_REQUEST_CHARS], 1)
            return hits[0].tool["id"] if hits else ""
        case _:
            return ""


class _Turn:
    """One turn of a conversation, computed anew from the request and the results so far."""

    def __init__(self, request: ModelRequest, today: date) -> None:
        messages = list(request.messages)
        last_text = text_of(messages[-1]).lower() if messages else ""
        if not request.may_call and "no tool can be used" in last_text:
            messages.pop()
        numbers = [n for n, x in enumerate(messages) if x.get("role") == "user"]
        after = numbers[-1] + 1 if numbers else 0
        self.request_text = text_of(messages[after - 1])[:_MAX_REQUEST_CHARS] if numbers else ""
        self.outcomes = list(outcomes_in(messages[after:]))
        self.earlier = list(outcomes_in(messages[:after]))
        self.call_ids = {str(x.get("id")) for message in messages for x in calls_of(message)}
        self.may_call = request.may_call
        own = [x for x in request.functions if (x.name, x.description) not in _CHOOSING]
        self.matcher = ToolMatcher(own, today)
        self.tools = self.matcher.tools
        self.can_search = any(x.name == TOOL_SEARCH.name for x in request.functions)
        self.results: list[CallOutcome] = []
        self.pending: list[tuple[str, JsonObject]] = []
        self.answers: dict[tuple[str, str], None] = {}

    def reply(self) -> ModelReply:
        """Return the next calls, or the answer."""
        if (talk := self._small_talk()) and not self.outcomes:
            return ModelReply(talk)
        for clause in self._clauses() or [self.request_text]:
            self._serve(clause)
            if self.pending and self.may_call:  # further clauses may need the results
                return self._calls(clause)
        if not self.answers:
            self._say(f"{WHO} I have no result to answer from.")
        return ModelReply(self._answer())

    def _answer(self) -> str:
        """Return the answer; each of several results follows its call."""
        is_one = sum(bool(heading) for heading, _ in self.answers) < 2
        return "\n\n".join(text if is_one else heading + text for heading, text in self.answers)

    def _say(self, text: str, heading: str = "") -> None:
        self.answers[heading, text] = None

    def _calls(self, clause: str) -> ModelReply:
        words = dict.fromkeys(f'I will use {name} for "{clause}".' for name, _ in self.pending)
        ids = (x for n in count(1) if (x := f"call_{n}") not in self.call_ids)
        calls = [
            ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False))
            for call_id, (name, arguments) in zip(ids, self.pending, strict=False)
        ]
        return ModelReply(" ".join(words), tuple(calls), finish="tool_calls")

    def _clauses(self) -> list[str]:
        """Return the parts of the request that each ask for something."""
        parameters = [y.words[:2] for x in self.tools.values() for y in x.slots]
        name_roots = {root(y) for x in self.tools.values() for y in x.words[-2:]}  # "and shout ..."

        def is_verb(word: str, following: str) -> bool:
            words = f"{word} {following}".lower().split()
            return root(words[0]) in CHANGING | READING | name_roots and words not in parameters

        return [x.text for x in read_request(self.request_text, is_verb).steps]

    # Serving a clause

    def _serve(self, clause: str) -> None:
        """Make the calls that a clause asks for, and show their results."""
        clause = self._with_result(clause)
        match = self.matcher.best(clause)
        if match is None:
            if not (self.can_search and self._search_tools(clause)) and not self._look(clause):
                problem = f'{WHO} No tool fits "{clip(clause, 120)}".'
                self._say(f"{problem}\n{self._examples()}\n{CONNECT}")
            return
        calls = self._complete(match, clause)
        outcomes = [x for x in [self._call(match.tool.name, y) for y in calls] if x]
        is_vain = match.tool.query and outcomes and all(x.is_empty for x in outcomes)
        if not (is_vain and self._look(clause)):
            for outcome in outcomes:
                self._show(outcome)

    def _search_tools(self, clause: str) -> bool:
        """Search for tools, by the clause and then widely; return whether a search runs."""
        words = dict.fromkeys([*terms(clause), *hints_in(clause, set())])
        query = " ".join(x for x in words if not x.isdigit())
        searches: list[JsonObject] = [{"query": query}] if query else []
        if ASKING.match(clause) or not self.tools:
            searches.append({"query": _WIDELY, "max_results": MAX_RESULTS})
        return any(not self._call(TOOL_SEARCH.name, x) for x in searches)

    def _complete(self, match: ToolMatch, clause: str) -> list[JsonObject]:
        """Return a match's calls, completed from earlier results; none if a value is missing."""
        calls = match.calls
        for slot in match.missing:
            values = self._from_results(slot, clause) or self._look_up(slot, match, clause)
            if not values:
                self._say_missing(match.tool, slot)
                return []
            calls = [{**x, slot.name: y} for x in calls for y in values]
        return calls

    def _look_up(self, slot: Slot, match: ToolMatch, clause: str) -> list[Any]:
        """Look up the id of a thing that a clause names, as in "borrow Dracula"."""
        things = roots_in(" ".join(slot.words)) - {"id", "number"}
        searches = [x for x in self.tools.values() if x.query and things & x.name_roots]
        name = _name_in(clause, match)
        if not (slot.topic == "id" and searches and name):
            return []
        search = searches[0]
        outcome = self._call(search.name, {search.query: name})
        value = slot.id_in(outcome.data, name) if outcome else None
        if outcome and value is None:
            self._say(f'{search.name} did not give exactly one `{slot.name}` for "{name}".')
        return [] if value is None else [value]

    def _look(self, clause: str) -> bool:
        """Answer a question from the first search or list whose result has one of its words."""
        if not ASKING.match(clause):
            return False
        values = self.matcher.values_of(clause)
        names = [str(x.value) for x in values if x.kind in ("name", "quoted")]
        targets = names or [x for x in terms(clause) if root(x) not in GENERIC]
        calls = self._look_calls(clause, names[:1])
        for outcome in [self._call(*x) for x in calls[:_MAX_LOOKS]]:
            text = outcome.text.lower() if outcome and not outcome.is_error else ""
            if outcome and any(x.lower() in text for x in targets):
                self._show(outcome)
                return True
        return bool(self.pending)

    def _look_calls(self, clause: str, names: Sequence[str]) -> list[tuple[str, JsonObject]]:
        searches = [x for x in self.tools.values() if x.query]
        calls = [(x.name, {x.query: y}) for x in searches for y in names if x.function.read_only]
        calls += [(x.name, {}) for x in self.tools.values() if x.lists_all]
        text = clause.strip(" ?!.")
        return calls + [(x.name, {x.query: text}) for x in searches if "memory" in x.words]

    # Values of earlier results

    def _with_result(self, clause: str) -> str:
        """Replace "it" in the clause with the number that the last result holds, if any."""
        number = number_of(self.results[-1].data) if self.results else None
        if number is None:
            return clause
        clause = re.sub(r"^(\w+) by ", rf"\1 {number} by ", clause)
        return _RESULT.sub(str(number), clause, count=1)

    def _from_results(self, slot: Slot, clause: str) -> list[Any]:
        """Return a parameter's value from earlier results; several values for "them"."""
        refers, is_each = words_refer(clause), bool(_EACH.search(clause))
        for outcome in [*reversed(self.results), *(reversed(self.earlier) if refers else ())]:
            items = items_in(outcome.data) or [outcome.data]
            items = items if is_each else [_pick(items, self.request_text)]
            parts = (slot.value_in(x, strict=is_each or not refers) for x in items[:_MAX_EACH])
            values = [x for x in parts if x is not None and not outcome.is_error]
            if values and len(items) > _MAX_EACH:
                self._say(f"I used the first {_MAX_EACH} of {len(items)} results.")
            if values:
                return values
        return []

    # Calls and answers

    def _call(self, name: str, arguments: JsonObject) -> CallOutcome | None:
        """Return a call's result; if it has none yet, queue the call and return None."""
        key = canonical_json(arguments)
        same = (x for x in self.outcomes if x.name == name and canonical_json(x.arguments) == key)
        outcome = next(same, None)
        if outcome is None and (name, arguments) not in self.pending:
            self.pending.append((name, arguments))
        if outcome and name != TOOL_SEARCH.name:
            self.results.append(outcome)
        return outcome

    def _show(self, outcome: CallOutcome) -> None:
        if outcome.is_error:
            reason = outcome.text.removeprefix("ERROR").lstrip(": ") or "it gave no reason"
            self._say(f"{outcome.name} failed: {reason}")
        elif outcome.is_empty:
            words = ", ".join(f'"{x}"' for x in outcome.arguments.values() if isinstance(x, str))
            self._say(f"{outcome.name} found nothing{f' for {words}' if words else ''}.")
        else:
            values = ", ".join(str(x) for x in outcome.arguments.values() if not is_object(x))
            text = format_data(outcome.data).strip()
            heading = f"{outcome.name} ({values}):" if values else f"{outcome.name}:"
            self._say(text, f"{heading}\n" if "\n" in text else f"{heading} ")

    def _small_talk(self) -> str:
        if not self.tools and not self.can_search:
            return f"{WHO} I have no tools."
        if self.request_text.strip() and not _TALK.fullmatch(self.request_text):
            return ""
        own = [x.function for x in self.tools.values()]
        lines = (f"- {x.name}: {first_sentence(x.description, 120)}" for x in own)
        return "\n".join([f"{WHO} My tools:", *lines, self._examples(), CONNECT])

    def _say_missing(self, tool: OfflineTool, slot: Slot) -> None:
        choices = f" (one of: {', '.join(map(str, slot.choices[:8]))})" if slot.choices else ""
        what = f"the request does not say what `{slot.name}`{choices} should be"
        self._say(f"I would use {tool.name}, but {what}.\n{self._examples()}".strip())

    def _examples(self) -> str:
        examples = [f'"{x}"' for x in self.matcher.examples(_MAX_EXAMPLES)]
        return f"For example: {' or '.join(examples)}." if examples else ""


def _name_in(clause: str, match: ToolMatch) -> str:
    """Return the unused words of a clause after its verb, as in "borrow dracula"."""
    others = match.tool.roots | roots_in(" ".join(map(str, match.arguments.values())))
    words = [x.strip("\"'") for x in clause.split()[1:]]
    return " ".join(x for x in words if roots_in(x) and not roots_in(x) & others)


def _pick(items: Sequence[Any], text: str) -> Any:
    """Return the item that words point at: `the second one`; else the first."""
    words = re.findall(r"[a-z]+", text.lower())
    place = next((_ORDINALS[x] for x in words if x in _ORDINALS), 0)
    return items[place] if place < len(items) else items[0]


# Results


@dataclass(frozen=True)
class CallOutcome:
    """A completed call with its result."""

    name: str
    arguments: JsonObject
    text: str

    @property
    def is_error(self) -> bool:
        """Return whether the call failed."""
        return self.text.startswith("ERROR")

    @cached_property
    def data(self) -> Any:
        """Return the result's JSON value, else its text."""
        return parse_json_text(self.text)

    @property
    def is_empty(self) -> bool:
        """Return whether the call found nothing."""
        return self.data in ({}, "") or items_in(self.data) == []


def outcomes_in(messages: Sequence[Message]) -> Iterator[CallOutcome]:
    """Yield the answered calls, in order."""
    for message, call in with_calls(messages):
        if message.get("role") == "tool":
            function = as_object(call.get("function"))
            arguments = as_object(parse_json_text(function.get("arguments")))
            name = str(function.get("name") or message.get("name") or "")
            yield CallOutcome(name, arguments, text_of(message))


def format_data(data: Any, level: int = 0) -> str:
    """Format a result for people: its text, its fields line by line, or a line for each item."""
    if is_object(data):
        fields = ((name.replace("_", " "), format_data(x, level + 1)) for name, x in data.items())
        lines = (f"{name}:{x}" if x.startswith("\n") else f"{name}: {x}" for name, x in fields)
        return ("\n" if level == 0 else ", ").join(lines)
    if is_list(data):
        items = [format_data(x, level + 2) for x in data]
        is_table = level < 2 and any(isinstance(x, dict | list) for x in data)
        return "".join(f"\n- {x}" for x in items) if is_table else ", ".join(items)
    if data is None:
        return "none"
    return data.strip() if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
