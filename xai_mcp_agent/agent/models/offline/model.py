"""The offline model: deterministic rules behind the same seam as a real model.

It asks a planner which tools the words of a request surely mean and what they say of their
arguments, uses one result for the next call, and writes an answer from the results. It needs no
key and no network, and it knows nothing of any particular server. When it cannot help it says what
it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import cast

from anyio.lowlevel import checkpoint

from ....core.json import JsonObject
from ....core.threads import beside_loop
from ....planning.careful.searching import MOST_FOUND, ToolSearch
from ....planning.careful.situation import Situation
from ....planning.plan import Plan
from ....search.index import LexicalIndex
from ....search.terms import spelled_terms, weighted
from ...messages import ToolCall, text_of
from ..base import ModelReply, ModelRequest, OnAgain, OnText
from . import guide
from .answer import answer_for
from .conversation import Reading, read_request
from .finding import is_for_choosing, is_meta, tool_search_of
from .planners import planner_of
from .progress import MOST_EACH, CallState, NextCall, progress

_WORDS_PER_PIECE = 4
_MAX_THOUGHTS_SHOWN = 3
# Words that most servers have some tool for.
_ANYTHING = "list show count convert calculate current time date number text name"
_CHARS_A_TOOL = 50  # of a conversation take as long to read as a tool to make ready
_ROUTE_WORDS = 10.0  # of a usual description
_MOST_ROUTED_CHARS = 6_000
_LEAST_ROUTED = 0.05  # of what all words of a request could score


class OfflineModel:
    """Answers by fixed rules. Same request, same reply; it keeps nothing between turns.

    `today` gives the date that words such as "tomorrow" go by.
    """

    is_offline = True

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self._today = today

    @property
    def name(self) -> str:
        """Honest about what it is."""
        return "offline rules"

    @property
    def calls_functions(self) -> bool:
        """It takes functions, and nothing else."""
        return True

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Call the tools that come next, or answer. Never fails and never waits."""
        await checkpoint()
        if request.output_schema and (choice := _choice(request.output_schema, request)):
            return ModelReply(choice)
        chars = sum(len(text_of(x)) for x in request.messages)
        chars += _CHARS_A_TOOL * len(request.functions)
        reply = await beside_loop(chars, lambda: _reply(read_request(request), self._today()))
        for piece in _pieces(reply.text):
            await on_text(piece)
            await checkpoint()
        return reply

    async def aclose(self) -> None:
        """Nothing is open."""


def _choice(schema: JsonObject, request: ModelRequest) -> str:
    """The route whose line fits the last message best, as JSON; empty if this is no such question.

    See `routing`, which asks for it.
    """
    match schema.get("properties"):
        case {"route": {"enum": [*names], "description": str(lines)}}:
            index = LexicalIndex[str]()
            for name, line in zip(cast(list[str], names), lines.splitlines(), strict=False):
                index.put(name, weighted(spelled_terms(line), _ROUTE_WORDS))
            asked = spelled_terms(text_of(request.messages[-1])[:_MOST_ROUTED_CHARS])
            best = index.search(asked, 1)
            is_near = best and best[0][1] > _LEAST_ROUTED * index.whole(asked)
            return json.dumps({"route": best[0][0]}) if is_near else ""
        case _:
            return ""


def _reply(reading: Reading, today: date) -> ModelReply:
    talk = guide.small_talk(reading.asked, reading.functions)
    if talk is not None and not reading.outcomes:
        return ModelReply(talk)
    offered = [x for x in reading.functions if not is_for_choosing(x)]
    outcomes, earlier = (
        [x for x in found if not is_meta(x.name)] for found in (reading.outcomes, reading.earlier)
    )
    situation = Situation(
        today=today,
        called=frozenset(x.name for x in outcomes),
        last_tool=earlier[-1].name if earlier else None,
        has_results=any(not x.is_error for x in earlier),
        search=tool_search_of(reading.functions, reading.earlier, reading.outcomes),
    )
    planner = planner_of(offered)
    plan = planner.plan(reading.asked, situation)
    states = progress(plan, planner, outcomes, earlier)
    calls = [call for state in states for call in state.pending]
    if not (calls or plan.calls or offered):
        calls = list(_look_round(situation.search, reading))
    # Each call is made at most twice, the second time mended; more would be a circle.
    most = 2 * MOST_EACH * max(1, len(plan.calls))
    if calls and reading.may_call and len(reading.outcomes) < most:
        return _calls(calls, reading)
    return ModelReply(_conclusion(plan, states, situation.search, reading))


def _look_round(search: ToolSearch, reading: Reading) -> Iterator[NextCall]:
    """A search for any tools, where none is shown: to say what can be asked for."""
    failed = any(x.error for x in search.done.values())
    if search.tool is not None and not failed and _ANYTHING not in search.done:
        arguments = {"query": _ANYTHING, "max_results": MOST_FOUND}
        yield NextCall(search.tool, arguments, reading.asked)


def _calls(calls: Sequence[NextCall], reading: Reading) -> ModelReply:
    thought = " ".join(
        f"I will use {x.name} for {guide.shown(x.reason)}." for x in _different(calls)
    )
    numbered = [
        ToolCall(call_id, x.name, json.dumps(x.arguments, ensure_ascii=False))
        for call_id, x in zip(_new_ids(reading), calls, strict=False)
    ]
    return ModelReply(thought, tuple(numbered), finish="tool_calls")


def _different(calls: Sequence[NextCall]) -> list[NextCall]:
    by_words = {(x.name, x.reason): x for x in calls}
    return list(by_words.values())[:_MAX_THOUGHTS_SHOWN]


def _new_ids(reading: Reading) -> Iterator[str]:
    """Ids by position in the conversation, none that it has already."""
    number = 0
    while True:
        number += 1
        if f"call_{number}" not in reading.call_ids:
            yield f"call_{number}"


def _conclusion(
    plan: Plan, states: Sequence[CallState], search: ToolSearch, reading: Reading
) -> str:
    """The answer from what there is."""
    unmatched = [(x.said, search.done.get(x.query)) for x in plan.unmatched]
    if not plan.calls:
        return guide.nothing_fits(reading.functions, unmatched, has_images=reading.has_images)
    texts = [answer_for(states)]
    if not texts[0]:
        return guide.nothing_found(reading.functions, [x.call.name for x in states if x.outcomes])
    if not any(x.outcomes for x in states):
        texts.append(guide.ready_questions(reading.functions))
    texts += [guide.no_tool_for(*x) for x in unmatched]
    if reading.is_cut:
        texts.append(guide.only_read(len(reading.asked)))
    if plan.left_out:
        texts.append(guide.left_out(plan.left_out))
    return "\n\n".join(x for x in texts if x) or guide.no_answer_yet()


def _pieces(text: str) -> Iterator[str]:
    """The text in a few words at a time; joined they give it exactly."""
    found = re.findall(r"\S*\s*", text)
    for at in range(0, len(found), _WORDS_PER_PIECE):
        if piece := "".join(found[at : at + _WORDS_PER_PIECE]):
            yield piece
