"""The offline model: fixed rules behind the same seam as a real model.

It ranks the tools with the agents' own index, takes one for each clause of a request, fills in the
values that the clause states, and shows results unchanged. It calls a tool that changes something
only if a word asks for that change. It needs no key and no network, keeps nothing between turns,
and says so when it cannot help.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from itertools import islice
from typing import Any

from anyio.lowlevel import checkpoint

from ...core.json import JsonObject, as_object, canonical_json, clip, is_list, is_object
from ...core.provider_schema import FunctionSpec
from ...core.schemas import example_arguments
from ...core.threads import beside_loop
from ...planning.request import read_request
from ...search.index import LexicalIndex
from ...search.meta_tools import META_TOOLS, MOST_RESULTS, TOOL_SEARCH
from ...search.shortening import first_sentence
from ...search.terms import root, spaced, spelled_terms, synonyms, terms, weighted
from ...search.tools import ToolIndex
from ..messages import Message, ToolCall, calls_of, text_of, with_calls
from ..meta_tools import PLANNING_TOOLS
from .base import ModelReply, ModelRequest, OnAgain, OnText
from .offline_arguments import (
    CHANGING,
    READING,
    Filler,
    Slot,
    Span,
    conversion_in,
    expression_in,
    ids_in,
    items_in,
    list_in,
    number_of,
    pick,
    roots_in,
    roots_of,
    slots_of,
    spans_in,
    unit_name,
    value_for,
    words_refer,
)

WHO = "I am the offline model. I follow rules; ask me for one thing a tool can do."
CONNECT = (
    "For a real model, write OPENAI_API_KEY=... into the file .env beside mcp_settings.json, and "
    "set `agent_provider` of AgentInit to `openai` and `agent_model` to the model's name; with "
    "`xai-mcp-agent ask` give `--model openai:NAME`. For one on your own machine, wire an "
    "AgentModel with its `base_url` to `model_settings`, or give `--base-url`."
)
_MAX_REQUEST_CHARS, _MAX_RESULT_CHARS = 6_000, 6_000  # characters of a request, and of a result
_MOST_CLAUSES, _MOST_EACH, _MOST_LOOKS = 8, 5, 6
_MOST_LISTED = 20  # tools in an introduction
_MOST_RANKED, _MOST_FILLED = 24, 8
_CHARS_A_TOOL = 50  # of a conversation, read in the time it takes to prepare a tool
_MIN_ROUTE_SCORE = 0.05  # fraction of the score if all words of a request matched
# Words that match some tool of most servers.
_WIDELY = "search list find all"
_ALSO_NOUNS = roots_of("book change email mark order patch place post run share store")
_SEARCHING = roots_of("find look lookup search")
_GENERIC = roots_of("""
    all call check current data find get item list look new number result run search show tell
    thing tool use user value view
""")
_ASKING = re.compile(
    r"(?:what|whats|which|who|whom|whose|when|where|why|how|is|are|does|do|did|was|were|has|have|can|"
    r"should|could i)\b", re.IGNORECASE,
)  # fmt: skip
_POLITE = re.compile(
    r"(?:(?:please|also|now|ok|okay|so|well|and|then|hi|hello|can you|could you|would you|"
    r"i want to|i would like to|i'd like to|i need to|i want you to|help me|let's|just|"
    r"(?:please )?don't forget to|tell me|give me|next|finally|\d{1,2}[.)]|[-*\u2022])[,:!]?\s+)*",
    re.IGNORECASE,
)
_JOINED = re.compile(r",?\s+and\s+|,\s+(?=(?:what|which|how|where|when|who)\b)", re.IGNORECASE)
_IN_ORDER = re.compile(r"\b(?:then|after that|afterwards|finally|next)\W*$", re.IGNORECASE)
_RESULT = re.compile(r"\b(?<!is )(?:it|the (?:result|sum|product|answer))\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:them|these|those|each|all of|both|every)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|everything|every|list of)\b", re.IGNORECASE)
# Other phrases for deeds, and for things that a question asks for.
_HINTS = (
    (r"\b(?:give|bring|take|send)\b.{1,40}\bback\b|\b(?:bring|give|take) back\b", "return"),
    (r"\bsave\b|\bmake a note\b", "write"),
    (r"\bremember\b|\bkeep in mind\b|\bnote that\b", "remember create"),
    (r"\bdo you sell\b|\bcan i buy\b|\bprice\b|\bhow much (?:is|are)\b", "product price"),
    (r"\babout\b", "search subject"), (r"\bhow (?:many|much)\b", "count"),
    (r"\bborrowed\b|\bon loan\b", "loan"), (r"\d ?%", "percent"),
    (r"\d ?\+ ?\d", "add"), (r"\btimes (?=\d)|\d ?\* ?\d", "multiply"),
    (r"\bweek ?day\b|\bday of the week\b|\bwhat day\b", "weekday"),
)  # fmt: skip
_WANTING = re.compile(
    r"^(?:(?:we|i)(?: still)? need\b|don't forget\b|(?:we are|we're|i am|i'm) out of\b|"
    r"(?:i want to |i'd like to )?buy\b)", re.IGNORECASE,
)  # fmt: skip
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
    choice = _choice(request)
    return ModelReply(choice) if choice else _Turn(request, today).reply()


def _choice(request: ModelRequest) -> str:
    """Return the route nearest to the last message as JSON; empty if none is asked for."""
    match request.output_schema:
        case {"properties": {"route": {"enum": [*names], "description": str(lines)}}}:
            index = LexicalIndex[str]()
            for name, line in zip(map(str, names), lines.splitlines(), strict=False):
                index.put(name, weighted(spelled_terms(line), 10.0))
            words = spelled_terms(text_of(request.messages[-1])[:_MAX_REQUEST_CHARS])
            best = index.search(words, 1)
            is_near = best and best[0][1] > _MIN_ROUTE_SCORE * index.whole(words)
            return json.dumps({"route": best[0][0]}) if is_near else ""
        case _:
            return ""


class _Tool:
    """A tool as the matching sees it: its words as roots, like the index."""

    def __init__(self, function: FunctionSpec) -> None:
        self.function, self.name = function, function.name
        self.words = spaced(self.name).lower().split()
        self.slots = slots_of(function)
        # "Add up what it costs" adds nothing.
        first = re.match(r"\W*(?!add up\b)(\w+)", function.description, re.IGNORECASE)
        self.leading = root(first[1].lower()) if first else ""
        self.name_roots = roots_in(function.name) | {root(x) for x in self.words}
        about = " ".join(f"{x.name} {x.description}" for x in self.slots)
        self.roots = self.name_roots | roots_in(function.description) | roots_in(about)
        deeds = [x for x in map(root, self.words) if x in READING | CHANGING]
        reads = deeds[:1] != [] and deeds[0] in READING
        # `return_book` books nothing, and `order_cancel` orders nothing.
        sure = [x for x in deeds if x in CHANGING - _ALSO_NOUNS][:1]
        self.verbs = {*sure, *({self.leading} if self.leading in CHANGING or not sure else ())}
        self.only_reads = function.read_only is True or (function.read_only is None and reads)
        self.changes = not self.only_reads and (
            bool(self.verbs & CHANGING) or function.read_only is False
        )

    @property
    def query(self) -> Slot | None:
        """Return the parameter with the search query, if the tool needs nothing else."""
        needed = [x for x in self.slots if x.is_required]
        if len(needed) != 1 or needed[0].kind != "string" or needed[0].choices:
            return None
        return needed[0] if needed[0].topic == "query" and self.only_reads else None

    @property
    def lists_all(self) -> bool:
        """Return whether the tool lists all that it has."""
        is_list = self.only_reads and bool(self.name_roots & READING)
        return is_list and not any(x.is_required for x in self.slots)


@dataclass(frozen=True)
class _Outcome:
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
        return _from_json(self.text) if self.text.lstrip()[:1] in ("{", "[") else self.text


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _outcomes_in(messages: Sequence[Message]) -> Iterator[_Outcome]:
    """Yield each answered call, in order."""
    for message, call in with_calls(messages):
        if message.get("role") == "tool":
            function = as_object(call.get("function"))
            arguments = as_object(_from_json(str(function.get("arguments") or "{}")))
            name = str(function.get("name") or message.get("name") or "")
            yield _Outcome(name, arguments, text_of(message))


@dataclass(frozen=True)
class _Match:
    """A tool for a clause, with the clause's arguments. `worth` ranks it."""

    tool: _Tool
    filler: Filler
    worth: float


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
        self.outcomes = list(_outcomes_in(messages[after:]))
        self.earlier = list(_outcomes_in(messages[:after]))
        self.call_ids = {str(x.get("id")) for message in messages for x in calls_of(message)}
        self.today, self.may_call = today, request.may_call
        own = [x for x in request.functions if (x.name, x.description) not in _CHOOSING]
        self.tools = {x.name: _Tool(x) for x in own}
        self.index = ToolIndex[JsonObject](map(_as_dict, own))
        self.searches = any(x.name == TOOL_SEARCH.name for x in request.functions)
        self.has_zones = any(y.topic == "zone" for x in self.tools.values() for y in x.slots)
        self.results: list[_Outcome] = []
        self.pending: list[tuple[str, JsonObject, str]] = []
        self.answers: dict[tuple[str, str], None] = {}

    def reply(self) -> ModelReply:
        """Return the next calls, or the answer."""
        if (talk := self._small_talk()) and not self.outcomes:
            return ModelReply(talk)
        clauses = list(self._clauses()) or [(self.request_text, False)]
        for clause, is_later in clauses[:_MOST_CLAUSES]:
            changes = any(x in self.tools and self.tools[x].changes for x, _, _ in self.pending)
            if self.pending and (changes or is_later):  # it needs results that are not there yet
                break
            self._serve(clause)
        if self.pending and self.may_call:
            return self._calls()
        if len(clauses) > _MOST_CLAUSES:
            self._say(f"I do {_MOST_CLAUSES} things at once at most: I left out the rest.")
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
        """Yield the parts of the request that each ask for something, and whether they wait."""
        for step in read_request(self.request_text, lambda _word, _next: False).steps:
            in_order = bool(_IN_ORDER.search(self.request_text[: step.start]))
            for clause in self._split(step.text):
                yield _POLITE.sub("", clause, count=1), in_order or words_refer(clause)

    def _split(self, sentence: str) -> list[str]:
        """Split the sentence at each "and" before a new request that a tool serves."""
        pieces, at = list[str](), 0
        for joint in _JOINED.finditer(sentence):
            sides = sentence[at : joint.start()], sentence[joint.end() :]
            if all(map(self._begins, sides)):
                pieces.append(sides[0])
                at = joint.end()
        return [*pieces, sentence[at:]]

    def _begins(self, text: str) -> bool:
        """Return whether a new request may begin here, and some tool would serve it."""
        polite = _POLITE.sub("", text, count=1)
        verbs = {y for x in self.tools.values() for y in (x.leading, *map(root, x.words[-2:]))}
        is_order = {_first(polite), _first(text)} & (CHANGING | READING | verbs)
        if not is_order and not _ASKING.match(polite):
            return False
        # The parts stay the same after a search has found tools.
        return len(roots_in(polite) - _GENERIC) > 1 if self.searches else bool(self._rank(polite))

    # Choosing a tool

    def _rank(self, clause: str) -> list[_Match]:
        """Return the tools that match a clause's words, best first."""
        spans = spans_in(clause, self.today, zones=self.has_zones)
        words = clause
        for span in (x for x in spans if x.kind != "name"):
            words = words[: span.start] + " " * (span.end - span.start) + words[span.end :]
        hints = _hints(clause, {x.kind for x in spans})
        hits = self.index.search(" ".join([words, *hints]), _MOST_RANKED)
        scores = {str(x.tool["name"]): x.score for x in hits}
        keywords = [*terms(words), *hints]
        tools = [self.tools[x] for x in scores if x in self.tools]
        candidates = [x for x in tools if self._may_serve(x, clause, keywords)][:_MOST_FILLED]
        matches = [self._match(x, clause, spans, scores[x.name]) for x in candidates]
        return sorted(matches, key=lambda x: -x.worth)

    def _may_serve(self, tool: _Tool, clause: str, keywords: Sequence[str]) -> bool:
        """Return whether the words suffice for the tool, and ask for the change it makes."""
        words, first = re.findall(r"[a-z]+", clause.lower()), _first(clause)
        does_this = _alike(words[:1]) & {tool.leading, *tool.name_roots}
        if tool.changes and not _asks_for_change(tool, clause, keywords):
            return False
        if first in CHANGING and not tool.changes and not does_this:
            return False
        last_words = {root(x) for x in tool.words[-2:]}
        is_named = last_words <= {root(x.removesuffix("s")) for x in words}
        return (
            (tool.only_reads and len(last_words) > 1 and is_named)
            or (first in _SEARCHING and [x for x in self.tools.values() if x.query] == [tool])
            or bool(_alike(x for x in keywords if root(x) not in _GENERIC) & tool.roots)
        )

    def _match(self, tool: _Tool, clause: str, spans: Sequence[Span], score: float) -> _Match:
        filler = self._fill(tool, clause, spans)
        worth = score * (1.2 if _first(clause) == tool.leading else 1.0)
        worth *= _conversion_factor(tool.name, clause)
        worth *= 0.6 if filler.missing else 0.9 if filler.is_guessed else 1.0
        worth *= 0.5 ** len([x for x in filler.unused if x.kind != "name"])
        return _Match(tool, filler, worth)

    def _fill(self, tool: _Tool, clause: str, spans: Sequence[Span]) -> Filler:
        return Filler(tool.function, clause, spans, self.today)

    # Serving a clause

    def _serve(self, clause: str) -> None:
        """Make the calls that a clause asks for, and show their results."""
        clause = self._with_result(clause)
        match = next(iter(self._rank(clause)), None)
        if match is None and self.searches and self._search_tools(clause):
            return
        if match is None:
            if not self._look(clause):
                self._say(self._nothing_fits(clause))
            return
        calls = self._complete(match, clause)
        outcomes = [self._call(match.tool.name, x, clause) for x in calls]
        is_vain = bool(outcomes) and all(x and _is_empty(x) for x in outcomes)
        if is_vain and match.tool.query and self._look(clause, after=match.tool):
            return
        for outcome in outcomes:
            if outcome:
                self._show(outcome)

    def _search_tools(self, clause: str) -> bool:
        """Search for tools, by the clause and then widely; return whether a search runs."""
        query = _query_of(clause)
        searches: list[JsonObject] = [{"query": query}] if query else []
        if not self.answers and (_ASKING.match(clause) or not self.tools):
            searches.append({"query": _WIDELY, "max_results": MOST_RESULTS})
        return any(not self._call(TOOL_SEARCH.name, x, clause) for x in searches)

    def _complete(self, match: _Match, clause: str) -> list[JsonObject]:
        """Return a match's calls, completed from earlier results; none if a value is missing."""
        calls = self._each_thing(match, clause) or match.filler.calls
        for slot in match.filler.missing:
            values = self._from_results(slot, clause) or self._look_up(slot, match, clause)
            if values:
                calls = [{**x, slot.name: y} for x in calls for y in values]
            else:
                if not self.pending:
                    self._say(self._missing(match.tool, slot))
                return []
        return calls

    def _each_thing(self, match: _Match, clause: str) -> list[JsonObject]:
        """Split `add bread and 3 pears` into one call per thing added to a list."""
        texts = [x for x in match.filler.calls[0].values() if isinstance(x, str)]
        if not ({"add", "put"} & match.tool.verbs and match.filler.is_guessed and texts):
            return []
        start = clause.find(texts[0])
        before = re.search(r"(?:\d+|\b(?:an?|two|three|four|five|six))\s*$", clause[:start])
        stretch = clause[before.start() if before else start :]
        pieces = list_in(stretch)
        if len(pieces) < 2 or any(len(x.split()) > 6 for x in pieces):
            return []
        texts = [f"add {x}" for x in pieces]
        return [self._fill(match.tool, x, spans_in(x, self.today)).arguments for x in texts]

    def _look_up(self, slot: Slot, match: _Match, clause: str) -> list[Any]:
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
        ids = ids_in(outcome.data, slot, name) if outcome else []
        if outcome and not ids:
            self._say(f'{search.name} did not give exactly one `{slot.name}` for "{name}".')
        return ids

    def _look(self, clause: str, after: _Tool | None = None) -> bool:
        """Answer a question from the first search or list whose result has a word sought."""
        if not (after or _ASKING.match(clause) or _ALL.search(clause) or clause.endswith("?")):
            return False
        names = [str(x.value) for x in spans_in(clause, self.today) if x.kind in ("name", "quoted")]
        targets = names or [x for x in terms(clause) if root(x) not in _GENERIC | CHANGING]
        calls = list(self._look_calls(clause, names[:1], after))[:_MOST_LOOKS]
        for outcome in [self._call(name, arguments, clause) for name, arguments in calls]:
            text = outcome.text.lower() if outcome and not outcome.is_error else ""
            if outcome and any(x.lower() in text for x in targets):
                self._show(outcome)
                return True
        return bool(self.pending)

    def _look_calls(
        self, clause: str, names: Sequence[str], after: _Tool | None
    ) -> Iterator[tuple[str, JsonObject]]:
        for tool in self.tools.values():
            if tool.query and tool.function.read_only and tool is not after:
                yield from ((tool.name, {tool.query.name: x}) for x in names)
        yield from ((x.name, {}) for x in self.tools.values() if x.lists_all)
        for tool in self.tools.values():
            if tool.query and "memory" in tool.words:
                yield tool.name, {tool.query.name: clause.strip(" ?!.")}

    # Values of earlier results

    def _with_result(self, clause: str) -> str:
        """Replace "it" in the clause with the number that the last result holds, if any."""
        last = self.results[-1] if self.results else None
        number = number_of(last.data) if last else None
        if number is not None:
            clause = re.sub(r"^(\w+) by ", rf"\1 {number} by ", clause)
            return _RESULT.sub(str(number), clause, count=1)
        return clause

    def _from_results(self, slot: Slot, clause: str) -> list[Any]:
        """Return a parameter's value from earlier results; several values for "them"."""
        refers = words_refer(clause)
        results = [*reversed(self.results), *(reversed(self.earlier) if refers else ())]
        for outcome in results:
            if outcome.is_error:
                continue
            items = items_in(outcome.data)
            if items and _EACH.search(clause) and slot.kind != "array":
                values = [value_for(slot, x, strict=True) for x in items[:_MOST_EACH]]
                if any(values) and len(items) > _MOST_EACH:
                    self._say(f"I used the first {_MOST_EACH} of {len(items)} results.")
                return [x for x in values if x is not None]
            item = pick(items, f"{clause} {self.request_text}") if items else outcome.data
            value = value_for(slot, item, strict=not refers)
            if value is not None:
                return [value]
        return []

    # Calls

    def _call(self, name: str, arguments: JsonObject, why: str) -> _Outcome | None:
        """Return a call's result; if it has none yet, queue the call and return None."""
        key = canonical_json(arguments)
        same = (x for x in self.outcomes if x.name == name and canonical_json(x.arguments) == key)
        outcome = next(same, None)
        if outcome is None and (name, arguments, why) not in self.pending:
            self.pending.append((name, arguments, why))
        if outcome and name != TOOL_SEARCH.name:
            self.results.append(outcome)
        return outcome

    # Words

    def _show(self, outcome: _Outcome) -> None:
        if outcome.is_error:
            reason = _ERROR.sub("", outcome.text).strip() or "it gave no reason"
            self._say(f"{outcome.name} failed: {reason}")
        elif _is_empty(outcome):
            words = ", ".join(f'"{x}"' for x in outcome.arguments.values() if isinstance(x, str))
            self._say(f"{outcome.name} found nothing{f' for {words}' if words else ''}.")
        else:
            values = ", ".join(str(x) for x in outcome.arguments.values() if not is_object(x))
            text = _as_text(outcome.data)
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
        lines = [f"- {x.name}: {first_sentence(x.description, 120)}" for x in own[:_MOST_LISTED]]
        lines += [f"... and {len(own) - _MOST_LISTED} more."] if len(own) > _MOST_LISTED else []
        count = "1 tool" if len(own) == 1 else f"{len(own)} tools"
        return "\n".join([f"{WHO} I have {count}:", *lines, self._examples(), CONNECT])

    def _missing(self, tool: _Tool, slot: Slot) -> str:
        choices = f" (one of: {', '.join(map(str, slot.choices[:8]))})" if slot.choices else ""
        what = f"the request does not say what `{slot.name}`{choices} should be"
        return f"I would use {tool.name}, but {what}.\n{self._examples()}".strip()

    def _nothing_fits(self, clause: str) -> str:
        return f'{WHO} No tool fits "{clip(clause, 120)}".\n{self._examples()}\n{CONNECT}'

    def _examples(self) -> str:
        """Return up to three example requests that the tools are sure to serve."""
        tools = sorted(self.tools.values(), key=lambda x: (x.changes, len(x.slots)))
        requests = ((_example(x, number), x) for number in range(3) for x in tools)
        examples = dict.fromkeys(f'"{x}"' for x, tool in requests if self._understands(x, tool))
        return f"For example: {' or '.join(islice(examples, 3))}." if examples else ""

    def _understands(self, request: str, tool: _Tool) -> bool:
        matches = self._rank(request)
        return bool(matches) and matches[0].tool is tool and not matches[0].filler.missing


def _as_dict(function: FunctionSpec) -> JsonObject:
    return {
        "id": function.name, "server": "", "name": function.name,
        "description": function.description, "input_schema": function.parameters,
    }  # fmt: skip


def _hints(clause: str, kinds: set[str]) -> list[str]:
    """Return words that a clause implies. `kinds` are the kinds of its values."""
    low = clause.lower()
    hints = [words for pattern, words in _HINTS if re.search(pattern, low)]
    if conversion := conversion_in(clause):
        hints += ["convert unit", *map(unit_name, conversion[1:])]
    if kinds and expression_in(clause):
        hints.append("calculate expression")
    hints += [x for x in ("date", "time", "zone", "path", "url", "email") if x in kinds]
    if _WANTING.match(clause) and not clause.endswith("?"):  # "we need 6 eggs"
        hints.append("add item")
    return " ".join(hints).split()


def _asks_for_change(tool: _Tool, clause: str, keywords: Sequence[str]) -> bool:
    """Return whether the clause orders or wishes the tool's change; a question never does."""
    if _ASKING.match(clause) or _first(clause) in READING:
        return False
    words = re.findall(r"[a-z]+", clause.lower())
    # A plural or past form orders nothing: "the deleted files" are not to be deleted.
    orders = [x for x in words if not re.search(r"(?<=\w\w)(?:[^s]s|ed|ing)$", x)]
    orders += [x for x in keywords if root(x) not in roots_in(clause)]
    changes = [x for x in orders if root(x) in CHANGING]
    return bool(tool.verbs & {*map(root, orders), *_alike(changes)})


def _first(text: str) -> str:
    """Return the first word of a text, as its root."""
    word = re.search(r"[a-z]+", text.lower())
    return root(word[0]) if word else ""


def _alike(words: Iterable[str]) -> set[str]:
    """Return the roots of the words and of their synonyms."""
    return {root(y) for x in words for y in (x, *synonyms(x))}


def _query_of(clause: str) -> str:
    words = [x for x in dict.fromkeys([*terms(clause), *_hints(clause, set())]) if not x.isdigit()]
    return " ".join(words) if any(root(x) not in _GENERIC for x in words) else ""


def _name_in(clause: str, match: _Match) -> str:
    """Return the name a clause uses for a thing, else its unused words, as in "borrow dracula"."""
    names = [x for x in match.filler.unused if x.kind in ("name", "quoted")]
    if names:
        return clause[names[0].start : names[-1].end].strip("\"'")
    values = " ".join(str(x) for x in match.filler.arguments.values())
    used = match.tool.roots | CHANGING | roots_in(values)
    return " ".join(x for x in clause.split() if roots_in(x) and not roots_in(x) & used)


def _conversion_factor(name: str, clause: str) -> float:
    """Return the weight of a tool named `a_to_b` for a clause that converts something."""
    parts = re.fullmatch(r"(?:.* )?(\w+) to (\w+).*", spaced(name).lower())
    conversion = conversion_in(clause) if parts else None
    if not parts or conversion is None or not unit_name(parts[1]):
        return 1.0
    ends = unit_name(parts[1]), unit_name(parts[2])
    return 3.0 if ends == tuple(map(unit_name, conversion[1:])) else 0.1


def _example(tool: _Tool, number: int) -> str:
    """Return a request that the rules understand as this tool's call; `number` varies it."""
    example_values = example_arguments(tool.function.parameters)
    values: JsonObject = {}
    for slot in tool.slots:
        if slot.is_required or (slot.choices and number):
            values[slot.name] = _sample(slot, example_values.get(slot.name), number)
    values_text = ", ".join(f"{spaced(k).lower()}: {v}" for k, v in values.items())
    name = spaced(tool.name).lower()
    return f"{name}, {values_text}" if values_text else name


_SAMPLES = {
    "zone": "Europe/London", "expression": "2 + 3", "date": "2026-03-12", "time": "14:30",
    "path": "notes.txt", "id": "A1", "name": "Florence", "query": "sea",
}  # fmt: skip


def _sample(slot: Slot, example: Any, number: int) -> Any:
    """Return a value for a parameter: one from the schema, or a usual one of its kind."""
    if slot.choices:
        return slot.choices[number % len(slot.choices)]
    if slot.is_number:
        return int(example or 1) + number
    match = re.search(r"such as [`'\"]?([^`'\",;]*[^`'\",;.])", slot.description)
    return match[1] if match else _SAMPLES.get(slot.topic, "something")


def _is_empty(outcome: _Outcome) -> bool:
    """Return whether a result is empty."""
    data = outcome.data
    lists = [x for x in as_object(data).values() if is_list(x)]
    return data in ([], {}, "") or (len(as_object(data)) < 4 and lists == [[]])


def _as_text(data: Any) -> str:
    """Format a result for people: its text, or its fields line by line."""
    if _is_table(data):
        return "\n".join(f"- {_line(x)}" for x in data)
    if not is_object(data):
        return _line(data)
    return "\n".join(
        f"{_label(k)}:\n{_as_text(v)}" if _is_table(v) else f"{_label(k)}: {_line(v)}"
        for k, v in data.items()
    )


def _is_table(data: Any) -> bool:
    return is_list(data) and any(isinstance(x, dict | list) for x in data)


def _line(value: Any) -> str:
    if is_object(value):
        return ", ".join(f"{_label(k)}: {_line(v)}" for k, v in value.items())
    if is_list(value):
        return ", ".join(map(_line, value))
    if value is None:
        return "none"
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _label(name: str) -> str:
    return name.replace("_", " ")
