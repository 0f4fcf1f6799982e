"""The offline model: fixed rules behind the same seam as a real model.

It calls one tool for each clause of a request with the values that the clause states, and shows
results unchanged. It needs no key and no network, stores nothing between turns, and says so when it
cannot help.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from itertools import islice
from typing import Any

from anyio.lowlevel import checkpoint

from ...core.json import JsonObject, canonical_json, clip, is_object
from ...core.threads import beside_loop
from ...planning.request import read_request
from ...search.meta_tools import MAX_RESULTS, META_TOOLS, TOOL_SEARCH
from ...search.shortening import first_sentence
from ...search.terms import root, terms
from ...search.tools import ToolIndex
from ..messages import ToolCall, calls_of, text_of
from ..meta_tools import PLANNING_TOOLS
from .base import ModelReply, ModelRequest, OnAgain, OnText
from .offline_arguments import Slot
from .offline_results import (
    CallOutcome,
    format_result,
    id_in,
    items_in,
    number_of,
    outcomes_in,
    pick,
    value_for,
)
from .offline_tools import ASKING, GENERIC, Match, OfflineTool, ToolMatcher, hints_in
from .offline_values import CHANGING, READING, list_in, roots_in, roots_of, words_refer

WHO = "I am the offline model. I follow rules; ask me for one thing a tool can do."
CONNECT = (
    "For a real model, write OPENAI_API_KEY=... into the file .env beside mcp_settings.json, and "
    "set `agent_provider` of AgentInit to `openai` and `agent_model` to the model's name; with "
    "`xai-mcp-agent ask` give `--model openai:NAME`. For one on your own machine, wire an "
    "AgentModel with its `base_url` to `model_settings`, or give `--base-url`."
)
_MAX_REQUEST_CHARS, _MAX_RESULT_CHARS = 6_000, 6_000  # characters of a request, and of a result
_MAX_CLAUSES, _MAX_EACH, _MAX_LOOKS = 8, 5, 6
_MAX_TOOLS, _MAX_EXAMPLES = 20, 3  # tools and requests in an introduction
_CHARS_A_TOOL = 50  # of a conversation, read in the time it takes to prepare a tool
_WIDELY = "search list find all"  # words that match some tool of most servers
_AND_ASKS = re.compile(r",?\s+and\s+(?=(?:what|which|how|where|when|who)\b)", re.IGNORECASE)
# Openings that `read_request` does not remove.
_POLITE = re.compile(
    r"(?:(?:please|also|ok|okay|well|just|can you|could you|would you|i want you to|tell me|"
    r"give me|don't forget to|finally)[,:!]?\s+)*", re.IGNORECASE,
)  # fmt: skip
_IN_ORDER = re.compile(r"\b(?:then|after that|afterwards|finally|next)\W*$", re.IGNORECASE)
_RESULT = re.compile(r"\b(?<!is )(?:it|the (?:result|sum|product|answer))\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:them|these|those|each|all of|both|every)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|everything|every|list of)\b", re.IGNORECASE)
_TALK = re.compile(
    r"\s*(?:hi|hello|hey|help|start|who are you|what can (?:you|it|this) do.{0,10}|"
    r"how does this work|(?:what|which|list|show) (?:me |all |your |the |my )*tools\b.{0,20})\W*",
    re.IGNORECASE,
)
_ERROR = re.compile(r"^ERROR:?\s*(?:Error (?:executing|calling|running) tool [^:\n]+:\s*)?")
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
        for piece in re.findall(r"(?:\S*\s*){1,4}", reply.text):
            if piece:
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
        self.outcomes, self.earlier = outcomes_in(messages[after:]), outcomes_in(messages[:after])
        self.call_ids = {str(x.get("id")) for message in messages for x in calls_of(message)}
        self.may_call = request.may_call
        own = [x for x in request.functions if (x.name, x.description) not in _CHOOSING]
        self.matcher = ToolMatcher(own, today)
        self.tools = self.matcher.tools
        self.searches = any(x.name == TOOL_SEARCH.name for x in request.functions)
        self.results: list[CallOutcome] = []
        self.pending: list[tuple[str, JsonObject, str]] = []
        self.answers: dict[tuple[str, str], None] = {}

    def reply(self) -> ModelReply:
        """Return the next calls, or the answer."""
        if (talk := self._small_talk()) and not self.outcomes:
            return ModelReply(talk)
        clauses = list(self._clauses()) or [(self.request_text, False)]
        for clause, is_later in clauses[:_MAX_CLAUSES]:
            changes = any(x in self.tools and self.tools[x].changes for x, _, _ in self.pending)
            if self.pending and (changes or is_later):  # it needs results that are not there yet
                break
            self._serve(clause)
        if self.pending and self.may_call:
            return self._calls()
        if len(clauses) > _MAX_CLAUSES:
            self._say(f"I do at most {_MAX_CLAUSES} things at once and left out the rest.")
        if not self.answers:
            self._say(f"{WHO} I have no result to answer from.")
        return ModelReply(self._answer())

    def _answer(self) -> str:
        """Return the answer; each of several results follows its call."""
        is_one = sum(bool(heading) for heading, _ in self.answers) < 2
        parts: list[str] = []
        for heading, text in self.answers:
            space = "\n" if "\n" in text else " "
            parts.append(text if is_one or not heading else f"{heading}:{space}{text}")
        return "\n\n".join(parts)

    def _say(self, text: str, heading: str = "") -> None:
        self.answers[heading, text] = None

    def _calls(self) -> ModelReply:
        words = dict.fromkeys(f'I will use {name} for "{why}".' for name, _, why in self.pending)
        ids = (f"call_{n}" for n in range(1, 10_000) if f"call_{n}" not in self.call_ids)
        calls = [
            ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False))
            for call_id, (name, arguments, _) in zip(ids, self.pending, strict=False)
        ]
        return ModelReply(" ".join(islice(words, 3)), tuple(calls), finish="tool_calls")

    # Clauses

    def _clauses(self) -> Iterator[tuple[str, bool]]:
        """Yield each clause of the request, and whether it must wait for earlier results."""
        text = _AND_ASKS.sub("; ", self.request_text)
        parameters = [y.words[:2] for x in self.tools.values() for y in x.slots]
        name_roots = {root(y) for x in self.tools.values() for y in x.words[-2:]}  # "and shout ..."

        def is_verb(word: str, following: str) -> bool:
            words = f"{word} {following}".lower().split()
            return root(words[0]) in CHANGING | READING | name_roots and words not in parameters

        for step in read_request(text, is_verb).steps:
            in_order = bool(_IN_ORDER.search(text[: step.start]))
            yield _POLITE.sub("", step.text, count=1), in_order or words_refer(step.text)

    # Serving a clause

    def _serve(self, clause: str) -> None:
        """Make the calls that a clause asks for, and show their results."""
        clause = self._with_result(clause)
        match = next(iter(self.matcher.rank(clause)), None)
        if match is None:
            if not (self.searches and self._search_tools(clause)) and not self._look(clause):
                problem = f'{WHO} No tool fits "{clip(clause, 120)}".'
                self._say(f"{problem}\n{self._examples()}\n{CONNECT}")
            return
        calls = self._complete(match, clause)
        outcomes = [self._call(match.tool.name, x, clause) for x in calls]
        is_vain = bool(outcomes) and all(x and x.is_empty for x in outcomes)
        if is_vain and match.tool.query and self._look(clause, after=match.tool):
            return
        for outcome in outcomes:
            if outcome:
                self._show(outcome)

    def _search_tools(self, clause: str) -> bool:
        """Search for tools, by the clause and then widely; return whether a search runs."""
        words = dict.fromkeys([*terms(clause), *hints_in(clause, set())])
        words = [x for x in words if not x.isdigit()]
        is_special = any(root(x) not in GENERIC for x in words)
        searches: list[JsonObject] = [{"query": " ".join(words)}] if is_special else []
        if not self.answers and (ASKING.match(clause) or not self.tools):
            searches.append({"query": _WIDELY, "max_results": MAX_RESULTS})
        return any(not self._call(TOOL_SEARCH.name, x, clause) for x in searches)

    def _complete(self, match: Match, clause: str) -> list[JsonObject]:
        """Return a match's calls, completed from earlier results; none if a value is missing."""
        calls = self._each_thing(match, clause) or match.arguments.calls
        for slot in match.arguments.missing:
            values = self._from_results(slot, clause) or self._look_up(slot, match, clause)
            if values:
                calls = [{**x, slot.name: y} for x in calls for y in values]
            else:
                if not self.pending:
                    self._say_missing(match.tool, slot)
                return []
        return calls

    def _each_thing(self, match: Match, clause: str) -> list[JsonObject]:
        """Split `add bread and 3 pears` into one call per thing added to a list."""
        texts = [x for x in match.arguments.values.values() if isinstance(x, str)]
        if not ({"add", "put"} & match.tool.verbs and match.arguments.is_guessed and texts):
            return []
        start = clause.find(texts[0])
        before = re.search(r"(?:\d+|\b(?:an?|two|three|four|five|six))\s*$", clause[:start])
        things = list_in(clause[before.start() if before else start :])
        if len(things) < 2 or any(len(x.split()) > 6 for x in things):
            return []
        return [self.matcher.fill(match.tool, f"add {x}").values for x in things]

    def _look_up(self, slot: Slot, match: Match, clause: str) -> list[Any]:
        """Look up the ids of things that a clause names, as in "borrow Dracula"."""
        if not slot.is_id or words_refer(clause):
            return []
        things = roots_of(" ".join(slot.words)) - {"id", "number"} or match.tool.name_roots
        searches = (x for x in self.tools.values() if x.query and things & x.name_roots)
        search = next(searches, None)
        if search is None and self.searches:
            things = " ".join(x for x in slot.words if x != "id")
            self._call(TOOL_SEARCH.name, {"query": f"search {things}"}, clause)
        name = _name_in(clause, match)
        if search is None or search.query is None or not name:
            return []
        outcome = self._call(search.name, {search.query.name: name}, clause)
        value = id_in(outcome.data, slot, name) if outcome else None
        if outcome and value is None:
            self._say(f'{search.name} did not give exactly one `{slot.name}` for "{name}".')
        return [] if value is None else [value]

    def _look(self, clause: str, after: OfflineTool | None = None) -> bool:
        """Answer a question from the first search or list whose result has one of its words."""
        if not (after or ASKING.match(clause) or _ALL.search(clause) or clause.endswith("?")):
            return False
        spans = self.matcher.spans(clause)
        names = [str(x.value) for x in spans if x.kind in ("name", "quoted")]
        targets = names or [x for x in terms(clause) if root(x) not in GENERIC | CHANGING]
        calls = list(self._look_calls(clause, names[:1], after))[:_MAX_LOOKS]
        for outcome in [self._call(name, arguments, clause) for name, arguments in calls]:
            text = outcome.text.lower() if outcome and not outcome.is_error else ""
            if outcome and any(x.lower() in text for x in targets):
                self._show(outcome)
                return True
        return bool(self.pending)

    def _look_calls(
        self, clause: str, names: Sequence[str], after: OfflineTool | None
    ) -> Iterator[tuple[str, JsonObject]]:
        searches = [(x, x.query.name) for x in self.tools.values() if x.query]
        for tool, query in searches:
            if tool.function.read_only and tool is not after:
                yield from ((tool.name, {query: x}) for x in names)
        yield from ((x.name, {}) for x in self.tools.values() if x.lists_all)
        for tool, query in searches:
            if "memory" in tool.words:
                yield tool.name, {query: clause.strip(" ?!.")}

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
        refers = words_refer(clause)
        results = [*reversed(self.results), *(reversed(self.earlier) if refers else ())]
        for outcome in results:
            if outcome.is_error:
                continue
            items = items_in(outcome.data)
            if items and _EACH.search(clause) and slot.kind != "array":
                values = [value_for(slot, x, strict=True) for x in items[:_MAX_EACH]]
                if any(values) and len(items) > _MAX_EACH:
                    self._say(f"I used the first {_MAX_EACH} of {len(items)} results.")
                return [x for x in values if x is not None]
            item = pick(items, f"{clause} {self.request_text}") if items else outcome.data
            value = value_for(slot, item, strict=not refers)
            if value is not None:
                return [value]
        return []

    # Calls and answers

    def _call(self, name: str, arguments: JsonObject, why: str) -> CallOutcome | None:
        """Return a call's result; if it has none yet, queue the call and return None."""
        key = canonical_json(arguments)
        same = (x for x in self.outcomes if x.name == name and canonical_json(x.arguments) == key)
        outcome = next(same, None)
        if outcome is None and (name, arguments, why) not in self.pending:
            self.pending.append((name, arguments, why))
        if outcome and name != TOOL_SEARCH.name:
            self.results.append(outcome)
        return outcome

    def _show(self, outcome: CallOutcome) -> None:
        if outcome.is_error:
            reason = _ERROR.sub("", outcome.text).strip() or "it gave no reason"
            self._say(f"{outcome.name} failed: {reason}")
        elif outcome.is_empty:
            words = ", ".join(f'"{x}"' for x in outcome.arguments.values() if isinstance(x, str))
            self._say(f"{outcome.name} found nothing{f' for {words}' if words else ''}.")
        else:
            values = ", ".join(str(x) for x in outcome.arguments.values() if not is_object(x))
            text = format_result(outcome.data)
            omitted_count = len(text) - _MAX_RESULT_CHARS
            if omitted_count > 0:
                text = f"{text[:_MAX_RESULT_CHARS]} ... ({omitted_count} more characters)"
            self._say(text, f"{outcome.name} ({values})" if values else outcome.name)

    def _small_talk(self) -> str:
        if not self.tools and not self.searches:
            return f"{WHO} I have no tools."
        if self.request_text.strip() and not _TALK.fullmatch(self.request_text):
            return ""
        own = [x.function for x in self.tools.values()]
        lines = [f"- {x.name}: {first_sentence(x.description, 120)}" for x in own[:_MAX_TOOLS]]
        lines += [f"... and {len(own) - _MAX_TOOLS} more."] if len(own) > _MAX_TOOLS else []
        count = "1 tool" if len(own) == 1 else f"{len(own)} tools"
        return "\n".join([f"{WHO} I have {count}:", *lines, self._examples(), CONNECT])

    def _say_missing(self, tool: OfflineTool, slot: Slot) -> None:
        choices = f" (one of: {', '.join(map(str, slot.choices[:8]))})" if slot.choices else ""
        what = f"the request does not say what `{slot.name}`{choices} should be"
        self._say(f"I would use {tool.name}, but {what}.\n{self._examples()}".strip())

    def _examples(self) -> str:
        examples = [f'"{x}"' for x in self.matcher.examples(_MAX_EXAMPLES)]
        return f"For example: {' or '.join(examples)}." if examples else ""


def _name_in(clause: str, match: Match) -> str:
    """Return the name of a thing in a clause, else its unused words, as in "borrow dracula"."""
    names = [x for x in match.arguments.unused if x.kind in ("name", "quoted")]
    if names:
        return clause[names[0].start : names[-1].end].strip("\"'")
    values = " ".join(str(x) for x in match.arguments.values.values())
    others = match.tool.roots | CHANGING | roots_in(values)
    return " ".join(x for x in clause.split() if roots_in(x) and not roots_in(x) & others)
