"""Reads a whole reply of a model, with what of its calls is not to be made, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .quotation import Quotations
from .spellings import IsTool, TextCall, calls_as_answer
from .text import read_results
from .text_reply import parse_reply

_MADE_UP = (
    "You wrote this result yourself: {name} was not called, and what you wrote from there on was "
    "left out. To use a tool, write a line with TOOL, a colon, its name and its arguments, then "
    "stop and wait."
)


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call, why it is not made if it is not, and what else its answer tells the model."""

    call: TextCall
    not_made: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What a model thought, what it said, and its calls.

    `may_mean_call` says that the answer is JSON, its own, which describes calls of known tools.
    """

    thinking: str
    said: str
    calls: tuple[ReadCall, ...] = ()
    may_mean_call: bool = False


def read_reply(
    text: str,
    messages: Sequence[Mapping[str, Any]],
    is_tool: IsTool,
    *,
    taught: bool,
    reads_calls: bool = True,
    may_call: bool = True,
    asked_before: Collection[str] = (),
) -> ReadReply:
    """Read a reply to these messages; see `parse_reply` and `Quotations`.

    `may_call` is False where an answer is wanted, which is then left as it is. Without
    `reads_calls` only thinking is looked for in the text, and JSON that may mean a call.
    """
    read = (
        parse_reply(text, is_tool, taught=taught)
        if reads_calls
        else parse_reply(text, taught=False)
    )
    if read.calls:
        quotations = Quotations(messages, read.thought, asked_before)
        hints = [quotations.hint(x) for x in read.calls]
        calls = [ReadCall(x, hint) for x, hint in zip(read.calls, hints, strict=True)]
        calls[-1] = ReadCall(read.calls[-1], hints[-1], read.note)
        return ReadReply(read.thinking, read.thought, tuple(calls))
    name = read.invented
    if (
        name
        and may_call
        and is_tool(name)
        and all(x.call.name != name for x in read_results(messages))
    ):
        made_up = ReadCall(TextCall(name, ""), _MADE_UP.format(name=name))
        return ReadReply(read.thinking, read.before_invented, (made_up,))
    may_mean_call = not taught and _may_mean_call(read.thought, messages, is_tool)
    return ReadReply(read.thinking, read.thought, may_mean_call=may_mean_call)


def _may_mean_call(answer: str, messages: Sequence[Mapping[str, Any]], is_tool: IsTool) -> bool:
    calls = calls_as_answer(answer)
    if not calls or not all(is_tool(x.name) for x in calls):
        return False
    quotations = Quotations(messages, "", ())
    return not any(map(quotations.hint, calls))
