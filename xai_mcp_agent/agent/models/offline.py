"""The offline model: fixed rules behind the same seam as a real model.

It ranks the tools with the agents' own index, takes one for each clause of a request, fills in what
the clause states, and shows what comes back as it is. A tool that changes something is called only
where a word asks for that change. It needs no key and no network, keeps nothing between turns, and
says so where it cannot help.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import islice
from typing import Any

from anyio.lowlevel import checkpoint

from ...core.json import JsonObject, canonical, is_object
from ...core.provider_schema import FunctionSpec
from ...core.schemas import example_arguments
from ...core.threads import beside_loop
from ...search.index import LexicalIndex
from ...search.meta_tools import META_TOOLS, MOST_RESULTS, TOOL_SEARCH
from ...search.shortening import first_sentence
from ...search.terms import SYNONYMS, root, spaced, spelled_terms, terms, weighted
from ...search.tools import ToolIndex
from ..messages import Message, ToolCall, calls_of, text_of
from ..meta_tools import PLANNING_TOOLS
from .base import ModelReply, ModelRequest, OnAgain, OnText
from .offline_arguments import (
    CHANGING,
    READING,
    Filled,
    Filler,
    Slot,
    conversion_in,
    is_unit,
    roots_of,
    slots_of,
    spans_in,
    unit_name,
    words_refer,
)
from .offline_results import (
    SUPERLATIVE,
    Outcome,
    as_text,
    ids_in,
    is_empty,
    items_in,
    mended_by,
    number_of,
    outcomes_in,
    pick,
    share_said,
    shortened,
    value_for,
)

WHO = "I am the offline model. I follow rules; ask me for one thing a tool can do."
CONNECT = (
    "For a real model, write OPENAI_API_KEY=... into the file .env beside mcp_settings.json, and "
    "set `agent_provider` of AgentInit to `openai` and `agent_model` to the model's name; with "
    "`xai-mcp-agent ask` give `--model openai:NAME`. For one on your own machine, wire an "
    "AgentModel with its `base_url` to `model_settings`, or give `--base-url`."
)
_MOST_ASKED = 6_000  # characters of a request
_MOST_CLAUSES, _MOST_CALLS, _MOST_EACH, _MOST_LOOKS = 8, 24, 5, 6
_MOST_LISTED = 20  # tools in an introduction
_MOST_RANKED = 24
_CHARS_A_TOOL = 50  # of a conversation take as long to read as a tool to make ready
_LEAST_ROUTED = 0.05  # of what all words of a request could score
# What most servers have some tool for.
_WIDELY = "search list find all"
# Where a search says that it has everything for no words at all.
_ALL_IF_EMPTY = re.compile(
    r"\bempty\b[^.;]*\b(?:all|every)|\b(?:all|every)\w*\b[^.;]*\bempty\b", re.I
)
_ALSO_NOUNS = roots_of("book change email mark order patch place post run share store")
_THINGS = roots_of("buy shop thing item goods")
_SEARCHING = roots_of("find look lookup search")
_GENERIC = roots_of("""
    all call check current data find get item list look new number result run search show tell
    thing tool use user value view
""")
_ASKING = re.compile(
    r"(?:what|whats|which|who|whom|whose|when|where|why|how|is|are|does|do|did|was|were|has|have|can|"
    r"should|could i)\b(?! you (?:please )?(?!have|know|sell))", re.IGNORECASE,
)  # fmt: skip
_POLITE = re.compile(
    r"(?:(?:please|also|now|ok|okay|so|well|and|then|hi|hello|kindly|can you|could you|would you|"
    r"will you|i want to|i would like to|i'd like to|i need to|i want you to|help me|let's|just|"
    r"(?:please )?don't forget to|tell me|give me|next|finally|\d{1,2}[.)]|[-*\u2022])[,:!]?\s+)*",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?<!\b[A-Z])(?<!\bMr)(?<!\bDr)(?<!\bMrs)[.!?;]+\s+|\n+|,?\s+(?:and )?(?=then\b)", re.I
)
_JOINED = re.compile(r",?\s+and\s+|,\s+(?=(?:what|which|how|where|when|who)\b)", re.IGNORECASE)
_IN_ORDER = re.compile(r"\s*(?:and )?(?:then|after that|afterwards|finally|next)\b", re.IGNORECASE)
_RESULT = re.compile(r"\b(?<!is )(?:it|the (?:result|sum|product|answer))\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:them|these|those|each|all of|both|every)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|everything|every|list of)\b", re.IGNORECASE)
_FIELD = re.compile(
    r"(?:(?:tell|show|give)(?: me)?|say|what(?:'s| is| was)?|who)?\s*"
    r"(?:its|their|his|her|the|it|has|what)\b.{0,30}", re.IGNORECASE,
)  # fmt: skip
# What else is said for a deed, and for things that a question asks for.
_MEANT = (
    (r"\b(?:give|bring|take|send)\b.{1,40}\bback\b|\b(?:bring|give|take) back\b", "return"),
    (r"\b(?:put|keep) \b", "add"), (r"\bsave\b|\bmake a note\b", "write"),
    (r"\bremember\b|\bkeep in mind\b|\bnote that\b", "remember create"),
    (r"\blend\b", "borrow"), (r"\brent\b", "borrow"), (r"\bget rid of\b", "delete"),
    (r"\bdo you sell\b|\bcan i buy\b|\bprice\b|\bhow much (?:is|are)\b", "product price"),
    (r"\babout\b", "search subject"),
    (r"\bhow (?:many|much)\b", "count"), (r"\bpopular\b", "most borrowed"),
    (r"\bhow far\b", "distance"), (r"\bborrowed\b|\bon loan\b|\bgive .* back\b", "loan"),
    (r"\bopposite\b", "negative invert"), (r"\d ?%", "percent"), (r"\bplus\b|\d ?\+ ?\d", "add"),
    (r"\bminus\b|\d - \d", "subtract"), (r"\btimes (?=\d)|\d ?\* ?\d", "multiply"),
    (r"\bweek ?day\b|\bday of the week\b|\bwhat day\b", "weekday"),
)  # fmt: skip
_WANTING = re.compile(
    r"^(?:(?:we|i)(?: still)? need\b|don't forget\b|(?:we are|we're|i am|i'm) out of\b|"
    r"(?:i want to |i'd like to )?buy\b)", re.IGNORECASE,
)  # fmt: skip
_TALK = re.compile(
    r"\s*(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening|day)|help|help me|start|test|"
    r"who are you|what are you|"
    r"what (?:can|do|does) (?:you|it|this|the \w+) (?:do|know|offer)(?: for me)?|"
    r"how (?:do|does|can) (?:this|you|i) (?:work|use|ask|begin|start)\b.{0,30}|"
    r"(?:what|which|list|show)(?: me)?(?: all)?(?: (?:your|the|my|available))* (?:tools|functions)"
    r"(?: (?:do you have|are there|can you use|are available))?)[\s,.!?]*(?:there|all)?[\s,.!?]*",
    re.IGNORECASE,
)
_THANKS = re.compile(r"\s*(?:many )?(?:thanks?|thank you|great|ok|okay|bye|goodbye)\b.{0,12}", re.I)
_NO_MORE_TOOLS = re.compile(r"\b(?:no|not|without|never)\b[^.!?]*\btools?\b", re.IGNORECASE)
_ERROR = re.compile(r"^ERROR:?\s*(?:Error (?:executing|calling|running) tool [^:\n]+:\s*)?")
_FOUND = re.compile(r"^([\w-]{1,64})\(", re.MULTILINE)
_CHOOSING = frozenset((x.name, x.description) for x in (*PLANNING_TOOLS, *META_TOOLS))


class OfflineModel:
    """Answers by fixed rules. Same request, same reply; it keeps nothing between turns.

    `today` gives the date that words such as "tomorrow" go by.
    """

    is_program = True
    """It takes functions in each protocol, and its text is the answer as it is."""

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self._today = today

    @property
    def name(self) -> str:
        """Honest about what it is."""
        return "offline rules"

    @property
    def calls_functions(self) -> bool:
        """It takes functions."""
        return True

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Call the tools that come next, or answer. Never fails and never waits."""
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
        """Nothing is open."""


def _reply(request: ModelRequest, today: date) -> ModelReply:
    if choice := _choice(request):
        return ModelReply(choice)
    messages = list(request.messages)
    if not request.may_call and messages and _is_notice(messages[-1]):
        messages.pop()
    asked_at = max((n for n, x in enumerate(messages) if x.get("role") == "user"), default=-1)
    asked = text_of(messages[asked_at]) if asked_at >= 0 else ""
    turn = _Turn(
        asked[:_MOST_ASKED], request.functions, today, request.may_call,
        list(outcomes_in(messages[asked_at + 1 :])), list(outcomes_in(messages[: asked_at + 1])),
        {str(x.get("id")) for message in messages for x in calls_of(message)},
    )  # fmt: skip
    return turn.reply()


def _choice(request: ModelRequest) -> str:
    """The route whose line fits the last message best, as JSON; empty if no route is asked for."""
    match request.output_schema:
        case {"properties": {"route": {"enum": [*names], "description": str(lines)}}}:
            index = LexicalIndex[str]()
            for name, line in zip(map(str, names), lines.splitlines(), strict=False):
                index.put(name, weighted(spelled_terms(line), 10.0))
            asked = spelled_terms(text_of(request.messages[-1])[:_MOST_ASKED])
            best = index.search(asked, 1)
            is_near = best and best[0][1] > _LEAST_ROUTED * index.whole(asked)
            return json.dumps({"route": best[0][0]}) if is_near else ""
        case _:
            return ""


def _is_notice(message: Message) -> bool:
    return message.get("role") == "user" and bool(_NO_MORE_TOOLS.search(text_of(message)))


class _Tool:
    """A tool as words see it: all words as roots, as the index has them."""

    def __init__(self, function: FunctionSpec) -> None:
        self.function, self.name = function, function.name
        self.words = spaced(self.name).lower().split()
        self.slots = slots_of(function)
        # "Add up what it costs" adds nothing.
        first = re.match(r"\W*(?!add up\b)(\w+)", function.description, re.IGNORECASE)
        self.leading = root(first[1].lower()) if first else ""
        self.name_roots = _roots(function.name) | {root(x) for x in self.words}
        about = " ".join(f"{x.name} {x.description}" for x in self.slots)
        self.roots = self.name_roots | _roots(function.description) | _roots(about)
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
        """What it searches for, where it needs no more than that."""
        texts = [x for x in self.slots if x.kind == "string" and x.is_required and not x.choices]
        needed = [x for x in self.slots if x.is_required]
        is_search = texts and (texts[0].topic == "query" or self.name_roots & _SEARCHING)
        return texts[0] if is_search and len(needed) == 1 and self.only_reads else None

    @property
    def everything(self) -> JsonObject | None:
        """The arguments with which it lists all that it has, where it does so."""
        if self.query and _ALL_IF_EMPTY.search(self.query.description):
            return {self.query.name: ""}
        is_list = self.only_reads and self.name_roots & READING
        return {} if is_list and not any(x.is_required for x in self.slots) else None


@dataclass(frozen=True)
class _Match:
    """A tool for a clause, with the arguments that the clause gives. `worth` ranks it."""

    tool: _Tool
    filled: Filled
    worth: float
    doubt: float


@dataclass
class _Turn:
    """One turn of a conversation, worked out anew from what was asked and what came back."""

    asked: str
    functions: Sequence[FunctionSpec]
    today: date
    may_call: bool
    outcomes: list[Outcome]
    earlier: list[Outcome]
    call_ids: set[str]
    results: list[Outcome] = field(default_factory=list[Outcome])
    pending: list[tuple[str, JsonObject, str]] = field(
        default_factory=list[tuple[str, JsonObject, str]]
    )
    shown: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __post_init__(self) -> None:
        own = [x for x in self.functions if (x.name, x.description) not in _CHOOSING]
        self.tools = {x.name: _Tool(x) for x in own}
        self.index = ToolIndex[JsonObject](map(_as_dict, own))
        self.searches = any(x.name == TOOL_SEARCH.name for x in self.functions)
        self.has_zones = any(y.topic == "zone" for x in self.tools.values() for y in x.slots)
        self.done = list(self.outcomes)

    def reply(self) -> ModelReply:
        """The calls that come next, or the answer."""
        if (talk := self._small_talk()) and not self.outcomes:
            return ModelReply(talk)
        clauses = self._clauses()
        for clause in clauses[:_MOST_CLAUSES]:
            if self._must_wait(clause):
                break
            self._serve(_POLITE.sub("", clause, count=1).strip())
        if self.pending and self.may_call and len(self.done) < _MOST_CALLS:
            return self._calls()
        if len(clauses) > _MOST_CLAUSES:
            left = len(clauses) - _MOST_CLAUSES
            self._say(f"You asked for more than I do at once: I left out {left} parts.")
        if not self.shown:
            self._say(f"{WHO} I have no result to answer from.")
        return ModelReply(self._answer())

    def _answer(self) -> str:
        """What is shown; of several results each with the call that gave it."""
        shown = list(dict.fromkeys(self.shown))
        if sum(bool(heading) for heading, _ in shown) < 2:
            shown = [("", text) for _, text in shown]
        return "\n\n".join(_headed(*x) for x in shown)

    def _say(self, text: str, heading: str = "") -> None:
        self.shown.append((heading, text))

    def _calls(self) -> ModelReply:
        words = dict.fromkeys(f'I will use {name} for "{why}".' for name, _, why in self.pending)
        ids = (f"call_{n}" for n in range(1, 10_000) if f"call_{n}" not in self.call_ids)
        calls = [
            ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False))
            for call_id, (name, arguments, _) in zip(ids, self.pending, strict=False)
        ]
        return ModelReply(" ".join(islice(words, 3)), tuple(calls), finish="tool_calls")

    # Clauses

    def _clauses(self) -> list[str]:
        """The parts of the request that each ask for something."""
        quoted = [x.span() for x in re.finditer(r"\"[^\"]*\"|'[^'\n]*'(?!\w)", self.asked)]
        sentences = _parts(_SENTENCE, self.asked, quoted)
        return [clause for x in sentences for clause in self._parted(x)]

    def _parted(self, sentence: str) -> list[str]:
        """The sentence, parted at "and" where a new request begins that a tool serves."""
        pieces, at = list[str](), 0
        for joint in _JOINED.finditer(sentence):
            sides = sentence[at : joint.start()], sentence[joint.end() :]
            if all(self._begins(x) and self._fits(x) for x in sides):
                pieces.append(sides[0])
                at = joint.end()
        return [x for x in (*pieces, sentence[at:]) if x.strip(" .!?")]

    def _begins(self, text: str) -> bool:
        if _first(text) in READING:  # "tell me the weather"
            return True
        text = _POLITE.sub("", text, count=1)
        word = _first(text)
        if bool(_ASKING.match(text)) or word in CHANGING | READING:
            return True
        tools = () if self.searches else self.tools.values()
        return any(word == x.leading or word in map(root, x.words[-2:]) for x in tools)

    def _fits(self, text: str) -> bool:
        text = _POLITE.sub("", text, count=1)
        if self.searches:  # the parts stay the same when a search has found tools
            return len({root(x) for x in terms(text)} - _GENERIC) > 1
        return bool(self._ranked(text))

    def _must_wait(self, clause: str) -> bool:
        """Whether a clause needs what is not there yet."""
        changing = any(self._changes(name) for name, _, _ in self.pending)
        in_order = _IN_ORDER.match(clause) or words_refer(clause)
        return bool(self.pending) and bool(changing or in_order)

    def _changes(self, name: str) -> bool:
        return name in self.tools and self.tools[name].changes

    # Choosing a tool

    def _ranked(self, clause: str, among: Sequence[str] = ()) -> list[_Match]:
        """The tools that the words of a clause speak for, the best first."""
        spans = spans_in(clause, self.today, zones=self.has_zones)
        words = _without(clause, [x for x in spans if x.kind not in ("name", "sum")])
        hints = self._hints(clause, words, {x.kind for x in spans})
        query_words = [*terms(words), *hints]
        hits = self.index.search(" ".join([words, *hints]), _MOST_RANKED)
        names = [str(x.tool["name"]) for x in hits]
        scores = {str(x.tool["name"]): x.score for x in hits}
        for place, name in enumerate(among):
            scores[name] = max(scores.get(name, 0), 0.6**place)
        tools = [self.tools[x] for x in dict.fromkeys([*names, *among]) if x in self.tools]
        fitting = [x for x in tools if self._may_serve(x, clause, query_words)]
        matches = [self._match(x, clause, spans, query_words, scores[x.name]) for x in fitting[:8]]
        return sorted(matches, key=lambda x: -x.worth)

    def _hints(self, clause: str, words: str, kinds: set[str]) -> list[str]:
        """Words that a clause speaks for without saying them."""
        low = clause.lower()
        hints = [meant for pattern, meant in _MEANT if re.search(pattern, low)]
        if conversion := conversion_in(clause):
            hints += ["convert unit", unit_name(conversion.unit), unit_name(conversion.target)]
        if kinds & {"sum", "expression"}:
            hints.append("calculate expression")
        hints += [x for x in ("date", "time", "zone", "path", "url", "email") if x in kinds]
        if _wants(clause):
            hints.append("add item")
        return " ".join(hints).split()

    def _may_serve(self, tool: _Tool, clause: str, query_words: Sequence[str]) -> bool:
        """Whether the words are enough to call the tool, and may mean a change that it makes."""
        roots = {root(x) for x in query_words}
        first, own = _first(clause), tool.name_roots | {tool.leading}
        if tool.changes and not self._asks_for_change(tool, clause, roots):
            return False
        if _wants(clause) and tool.changes and not tool.roots & _THINGS:
            return False
        if first in CHANGING and not tool.changes and not ({first} | _others(first)) & own:
            return False
        named = [x for x in tool.words[-2:] if root(x) in _spoken(clause)]
        if tool.only_reads and len(named) > 1:
            return True
        if first in _SEARCHING and [x for x in self.tools.values() if x.query] == [tool]:
            return True
        telling = [*(roots - _GENERIC)]
        speaking = [x for x in telling if ({x} | _others(x)) & tool.roots]
        share = len(speaking) / max(1, len(telling))
        in_name = any(({x} | _others(x)) & tool.name_roots for x in telling)
        return bool(speaking) and share >= (0.15 if in_name else 0.25 if telling[1:] else 0.5)

    def _asks_for_change(self, tool: _Tool, clause: str, query_roots: set[str]) -> bool:
        """Only where its verb is said, as an order or a wish; a question changes nothing."""
        if _ASKING.match(clause) or _first(clause) in READING:
            return False
        spoken = {root(x) for x in re.findall(r"[a-z]+", clause.lower()) if not _is_inflected(x)}
        meant = spoken | {x for x in query_roots if x not in _roots(clause)}
        return any(x in meant or _others(x) & meant & CHANGING for x in tool.verbs)

    def _match(
        self,
        tool: _Tool,
        clause: str,
        spans: Sequence[Any],
        query_words: Sequence[str],
        score: float,
    ) -> _Match:
        filled = Filler(tool.function, clause, spans, self.today).fill()
        roots = [root(x) for x in query_words if root(x) not in _GENERIC]
        values = {y for x in filled.calls for y in _roots(" ".join(map(str, x.values())))}
        unsaid = [x for x in roots if x not in tool.roots and x not in values]
        worth = score * (1.2 if _first(clause) == tool.leading else 1.0)
        worth *= 1.3 if tool.name_roots.intersection(roots) else 1.0
        worth *= _conversion_factor(tool.name, clause)
        worth *= 0.6 if filled.missing else 1.0
        worth *= 0.9 if filled.guessed else 1.0
        worth *= 0.5 ** len([x for x in filled.unused if x.kind not in ("name", "expression")])
        worth *= 0.7 if filled.unused else 1.0
        doubt = 1.0 if filled.missing else len(unsaid) / max(1, len(roots))
        return _Match(tool, filled, worth, doubt)

    # Serving a clause

    def _serve(self, clause: str) -> None:
        """Make the calls that a clause asks for, and show what they gave."""
        clause = self._with_result(clause)
        match = self._chosen(clause)
        if self.pending and self.pending[-1][0] == TOOL_SEARCH.name and match is None:
            return
        is_lost = match is None and self.searches and not self.shown
        if is_lost and (_ASKING.match(clause) or not self.tools):
            widely = {"query": _WIDELY, "max_results": MOST_RESULTS}
            if not self._call(TOOL_SEARCH.name, widely, clause):
                return
        if match is None and self._look(clause):
            return
        if match is None:
            if not (self.shown and _FIELD.fullmatch(clause.rstrip("?.! "))):
                self._say(self._nothing_fits(clause))
            return
        calls = self._complete(match, clause)
        outcomes = [self._call(match.tool.name, x, clause) for x in calls]
        found_nothing = bool(outcomes) and all(x and is_empty(x) for x in outcomes)
        if found_nothing and match.tool.query and self._look(clause, after=match.tool):
            return
        for outcome in outcomes:
            if outcome:
                self._show(outcome)

    def _chosen(self, clause: str) -> _Match | None:
        """The best tool; in doubt one that a search finds, or None while that search runs."""
        ranked = self._ranked(clause)
        best = ranked[0] if ranked else None
        if best and best.filled.missing and best.tool.only_reads and not self.results:
            ready = [x for x in ranked if not x.filled.missing and x.worth > 0.15 * best.worth]
            best = next((x for x in ready if x.tool.only_reads), best)
        if not self.searches or (best and best.doubt <= 0.5):
            return best
        query = _query_of(clause, self._hints(clause, clause, set()))
        outcome = self._call(TOOL_SEARCH.name, {"query": query}, clause) if query else None
        if outcome is None:
            return best if not query else None
        matches = self._ranked(clause, _FOUND.findall(outcome.text))
        return matches[0] if matches else best

    def _complete(self, match: _Match, clause: str) -> list[JsonObject]:
        """The calls of a match, with what earlier results give; none where something lacks."""
        calls = self._each_thing(match, clause) or match.filled.calls
        lacking: list[str] = []
        for slot in match.filled.missing:
            values = self._from_results(slot, clause) or self._looked_up(slot, match, clause)
            if values:
                calls = [{**x, slot.name: y} for x in calls for y in values]
            elif self.pending:
                return []
            else:
                lacking.append(f"`{slot.name}`{_takes(slot)}")
        if lacking:
            listed = " and ".join(lacking)
            self._say(
                f"I would use {match.tool.name}, but the request does not say what {listed} should "
                f"be.\n{self._examples()}".strip()
            )
            return []
        return calls

    def _each_thing(self, match: _Match, clause: str) -> list[JsonObject]:
        """`add bread and 3 pears`: a call for each thing that is put on a list."""
        texts = [x for x in match.filled.calls[0].values() if isinstance(x, str)]
        if not ({"add", "put"} & match.tool.verbs and match.filled.guessed and texts):
            return []
        start = clause.find(texts[0])
        before = re.search(r"(?:\d+|\b(?:an?|two|three|four|five|six))\s*$", clause[:start])
        stretch = clause[before.start() if before else start :]
        pieces = [x for x in re.split(r"\s*,\s*(?:and )?|\s+and\s+", stretch) if x]
        if len(pieces) < 2 or any(len(x.split()) > 6 for x in pieces):
            return []
        filled = [
            Filler(match.tool.function, f"add {x}", spans_in(f"add {x}", self.today), self.today)
            for x in pieces
        ]
        return [x.fill().calls[0] for x in filled]

    def _looked_up(self, slot: Slot, match: _Match, clause: str) -> list[Any]:
        """The ids of the things that a clause calls by name: "borrow Dracula"."""
        search = self._search_for(slot, match.tool) if slot.is_id else None
        names = [x for x in match.filled.unused if x.kind in ("name", "quoted")]
        if search is None and slot.is_id and self.searches:
            things = " ".join(x for x in slot.words if x != "id")
            if not self._call(TOOL_SEARCH.name, {"query": f"search {things}"}, clause):
                return []
        if search is None:
            return []
        if words_refer(clause):
            return []
        if names:
            name = clause[names[0].start : names[-1].end].strip("\"'")
        else:
            used = _roots(" ".join(str(x) for y in match.filled.calls for x in y.values()))
            name = " ".join(x for x in clause.split() if _is_name_word(x, match.tool, used))
        if not name or search.query is None:
            return []
        outcome = self._call(search.name, {search.query.name: name}, clause)
        if outcome is None:
            return []
        ids = ids_in(outcome, slot, name)
        if not ids:
            self._say(f'{search.name} did not give exactly one `{slot.name}` for "{name}".')
        return ids

    def _search_for(self, slot: Slot, tool: _Tool) -> _Tool | None:
        """The search that gives the ids which a parameter takes."""
        things = {
            root(x) for x in slot.words if x not in ("id", "number", "key")
        } or tool.name_roots
        searches = [x for x in self.tools.values() if x.query and things & x.name_roots]
        named = [x for x in searches if x.name in slot.description]
        return next(iter(named or searches), None)

    def _look(self, clause: str, after: _Tool | None = None) -> bool:
        """Look for what a question asks about in what can only be read: searches, and lists.

        Shown is the result that says most of it.
        """
        is_wish = _ASKING.match(clause) or _ALL.search(clause) or clause.endswith("?")
        if not (is_wish or after):
            return False
        names = [x for x in spans_in(clause, self.today) if x.kind in ("name", "quoted")]
        sought = [str(x.value) for x in names] or [
            x for x in terms(clause) if root(x) not in _GENERIC | CHANGING
        ]
        calls = list(self._looks(clause, sought[:1] if names else [], after))[:_MOST_LOOKS]
        outcomes = [self._call(name, arguments, clause) for name, arguments in calls]
        shares = [(share_said(x, sought), x) for x in outcomes if x and not x.is_error]
        share, best = max(shares, key=lambda x: x[0], default=(0.0, None))
        is_all = after is not None and best is not None and best.arguments == after.everything
        if best and (share or is_all or SUPERLATIVE.search(clause)):
            self._show(best)
            return True
        return bool(self.pending)

    def _looks(
        self, clause: str, names: Sequence[str], after: _Tool | None
    ) -> Iterator[tuple[str, JsonObject]]:
        for tool in self.tools.values():
            if tool.query and tool.function.read_only and tool is not after:
                yield from ((tool.name, {tool.query.name: x}) for x in names)
        for tool in self.tools.values():
            if (everything := tool.everything) is not None:
                yield tool.name, everything
        if re.search(r"\b(?:my|mine|me|i|our|we)\b", clause, re.IGNORECASE):
            for tool in self.tools.values():
                if tool.query and "memory" in tool.words:
                    yield tool.name, {tool.query.name: clause.strip(" ?!.")}

    # Values of earlier results

    def _with_result(self, clause: str) -> str:
        """The clause with a number in place of "it", where the result before is one."""
        last = self.results[-1] if self.results else None
        number = number_of(last.data) if last else None
        if number is not None:
            clause = re.sub(r"^(\w+) by ", rf"\1 {number} by ", clause)
            return _RESULT.sub(str(number), clause, count=1)
        return clause

    def _from_results(self, slot: Slot, clause: str) -> list[Any]:
        """What a result gives for a parameter; several values for "them"."""
        refers = words_refer(clause)
        results = [x for x in reversed(self.results) if not x.is_error]
        if refers or slot.topic == "path":
            results += [x for x in reversed(self.earlier) if not x.is_error]
        for outcome in results:
            items = items_in(outcome.data)
            if items and _EACH.search(clause) and slot.kind != "array":
                values = [value_for(slot, x, strict=True) for x in items[:_MOST_EACH]]
                if values and None not in values:
                    return values
            focus = pick(items, f"{clause} {self.asked}") if items else outcome.data
            argument = None if slot.is_number else outcome.arguments.get(slot.name)
            is_text = isinstance(focus, str) and argument is not None
            value = None if is_text else value_for(slot, focus, strict=not refers)
            value = argument if value is None else value
            if value is not None:
                return [value]
        return []

    # Calls

    def _call(self, name: str, arguments: JsonObject, why: str) -> Outcome | None:
        """The result of a call; None while it is not made. An error may offer another value."""
        outcome = self._take(name, arguments)
        mended = mended_by(arguments, outcome) if outcome and outcome.is_error else None
        if mended:
            arguments, outcome = mended, self._take(name, mended)
        if outcome is None:
            if (name, arguments, why) not in self.pending:
                self.pending.append((name, arguments, why))
            return None
        if name != TOOL_SEARCH.name:
            self.results.append(outcome)
        return outcome

    def _take(self, name: str, arguments: JsonObject) -> Outcome | None:
        key = canonical(arguments)
        same = (x for x in self.outcomes if x.name == name and canonical(x.arguments) == key)
        return next(same, None)

    # Words

    def _show(self, outcome: Outcome) -> None:
        if outcome.is_error:
            reason = _ERROR.sub("", outcome.text).strip() or "it gave no reason"
            self._say(f"{outcome.name} failed: {reason}")
        elif is_empty(outcome):
            words = ", ".join(f'"{x}"' for x in outcome.arguments.values() if isinstance(x, str))
            self._say(f"{outcome.name} found nothing{f' for {words}' if words else ''}.")
        else:
            given = ", ".join(str(x) for x in outcome.arguments.values() if not is_object(x))
            heading = f"{outcome.name} ({given})" if given else outcome.name
            self._say(shortened(as_text(outcome.data)), heading)

    def _small_talk(self) -> str:
        if _THANKS.fullmatch(self.asked):
            return "You are welcome."
        if not self.tools and not self.searches:
            return f"{WHO} I have no tools."
        if self.asked.strip() and not _TALK.fullmatch(self.asked):
            return ""
        own = [x.function for x in self.tools.values()]
        lines = [f"- {x.name}: {first_sentence(x.description, 120)}" for x in own[:_MOST_LISTED]]
        lines += [f"... and {len(own) - _MOST_LISTED} more."] if len(own) > _MOST_LISTED else []
        listed = "\n".join(lines)
        return f"{WHO} I have {_counted(own)}:\n{listed}\n{self._examples()}\n{CONNECT}"

    def _nothing_fits(self, clause: str) -> str:
        quoted = clause if len(clause) <= 120 else f"{clause[:120]} ..."
        return f'{WHO} No tool fits "{quoted}".\n{self._examples()}\n{CONNECT}'

    def _examples(self) -> str:
        """Three requests that the tools surely answer."""
        examples: dict[str, None] = {}
        tools = sorted(self.tools.values(), key=lambda x: (x.changes, len(x.slots)))
        for number in range(3):
            for tool in tools:
                request = _example(tool, number)
                if len(examples) < 3 and self._understands(request, tool):
                    examples[f'"{request}"'] = None
        return f"For example: {' or '.join(examples)}." if examples else ""

    def _understands(self, request: str, tool: _Tool) -> bool:
        ranked = self._ranked(request)
        return bool(ranked) and ranked[0].tool is tool and not ranked[0].filled.missing


def _as_dict(function: FunctionSpec) -> JsonObject:
    return {
        "id": function.name, "server": "", "name": function.name,
        "description": function.description, "input_schema": function.parameters,
    }  # fmt: skip


def _headed(heading: str, text: str) -> str:
    if not heading:
        return text
    return f"{heading}:\n{text}" if "\n" in text else f"{heading}: {text}"


def _counted(tools: Any) -> str:
    return "1 tool" if len(tools) == 1 else f"{len(tools)} tools"


def _roots(text: str) -> set[str]:
    return {root(x) for x in terms(text)}


def _wants(clause: str) -> bool:
    """Whether somebody says no more than what is needed: "we need 6 eggs"."""
    return bool(_WANTING.match(clause)) and not clause.endswith("?")


def _first(text: str) -> str:
    """The word with which a text begins, as its root."""
    word = re.search(r"[a-z]+", text.lower())
    return root(word[0]) if word else ""


def _spoken(text: str) -> set[str]:
    """All words of a text, also those that say little."""
    return {root(x.removesuffix("s")) for x in re.findall(r"[a-z]+", text.lower())}


def _others(word: str) -> frozenset[str]:
    return _SAME.get(word, frozenset())


def _same() -> dict[str, frozenset[str]]:
    """By root the roots of other words for the same deed or thing."""
    groups: dict[str, frozenset[str]] = {}
    for line in (SYNONYMS + _SAME_THINGS).strip().splitlines():
        group = _roots(line)
        for word in group:
            groups[word] = groups.get(word, frozenset()) | (group - {word})
    return groups


def _is_inflected(word: str) -> bool:
    """Whether it is a plural or past form: "the deleted files" are not to be deleted."""
    return bool(re.search(r"(?<=\w\w)(?:[^s]s|ed|ing)$", word))


def _parts(boundary: re.Pattern[str], text: str, solid: Sequence[tuple[int, int]]) -> list[str]:
    """What lies between the boundaries that are not within a quotation."""
    parts: list[str] = []
    at = 0
    for match in boundary.finditer(text):
        if not any(start < match.start() < end for start, end in solid):
            parts.append(text[at : match.start() + len(match[0].rstrip())])
            at = match.end()
    return [x for x in (*parts, text[at:]) if x.strip(" .!?,")]


def _without(text: str, spans: Sequence[Any]) -> str:
    for span in spans:
        text = text[: span.start] + " " * (span.end - span.start) + text[span.end :]
    return text


def _query_of(clause: str, hints: Sequence[str]) -> str:
    words = [x for x in dict.fromkeys([*terms(clause), *hints]) if not x.isdigit()]
    return " ".join(words) if any(root(x) not in _GENERIC for x in words) else ""


def _is_name_word(word: str, tool: _Tool, used: set[str]) -> bool:
    return bool(_roots(word)) and not _roots(word) & (tool.roots | CHANGING | used)


def _conversion_factor(name: str, clause: str) -> float:
    """What a tool that is called `a_to_b` is worth where the clause converts something."""
    parts = re.fullmatch(r"(?:.* )?(\w+) to (\w+).*", spaced(name).lower())
    conversion = conversion_in(clause) if parts else None
    if not parts or conversion is None or not is_unit(parts[1]):
        return 1.0
    ends = unit_name(parts[1]), unit_name(parts[2])
    return 3.0 if ends == (unit_name(conversion.unit), unit_name(conversion.target)) else 0.1


def _takes(slot: Slot) -> str:
    return f" (one of: {', '.join(map(str, slot.choices[:8]))})" if slot.choices else ""


def _example(tool: _Tool, number: int) -> str:
    """A request that the rules understand as a call of this tool; another number may be another."""
    made = example_arguments(tool.function.parameters)
    values: JsonObject = {}
    for slot in tool.slots:
        if slot.is_required or (slot.choices and number):
            values[slot.name] = _sample(slot, made.get(slot.name), number)
    stated = ", ".join(f"{spaced(k).lower()}: {v}" for k, v in values.items())
    name = spaced(tool.name).lower()
    return f"{name}, {stated}" if stated else name


_SAMPLES = {
    "zone": "Europe/London", "expression": "2 + 3", "date": "2026-03-12", "time": "14:30",
    "path": "notes.txt", "id": "A1", "person": "Ada", "place": "Paris", "query": "sea",
}  # fmt: skip


def _sample(slot: Slot, made: Any, number: int) -> Any:
    """A value that a parameter takes: one that the schema shows, or a usual one of its kind."""
    if slot.choices:
        return slot.choices[number % len(slot.choices)]
    if slot.is_number:
        return int(made or 1) + number
    shown = re.search(r"such as [`'\"]?([^`'\",;]*[^`'\",;.])", slot.description)
    return shown[1] if shown else _SAMPLES.get(slot.topic, "something")


_SAME_THINGS = """
    price cost
    buy purchase order sell product
    save write store
    borrow lend rent loan
    reader member
    file document path
    mean average
    count statistic
    remember memory note
    put add
    text word
    weekday day
    clock time
    colour color
    share split
"""
_SAME = _same()
