"""Answers as the SDK has read them, compared with what was asked: each answer belongs to one POST.

The SDK believes the number in a JSON answer, so that a wrong one leaves its request waiting, and
says of an unusable one only that. Both are known better here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic_core import from_json

from ..wire.messages import PARSE_ERROR, message_reader, unreadable_answer
from ..wire.wrapped import Wrapped
from .diagnosis import why_no_message
from .errand import Errand, errand_in
from .events import TAKEN_OUT
from .facts import HttpFacts, Taken

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage


class Receiving(Wrapped):
    """A read stream of the SDK's, whose JSON answers are answers to what was asked."""

    def __init__(self, inner: Any, facts: HttpFacts) -> None:
        super().__init__(inner)
        self._facts = facts

    async def __anext__(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.__anext__()
        if isinstance(item, Exception):
            return item
        errand = errand_in(self._inner.last_context)
        if errand is not None and errand.body is not None:
            return _checked(item, errand, self._facts)
        _put_back(item.message, errand.large if errand is not None else self._facts.large)
        return item


def answer_in(content: bytes, errand: Errand, facts: HttpFacts) -> SessionMessage:
    """The answer that this body is; `errand.body` is how it came."""
    try:
        item = message_reader()(from_json(content))
    except ValueError:
        return unreadable_answer(errand.id, why_no_message(errand.body or content, facts.mask))
    return _checked(item, errand, facts)


def _checked(item: SessionMessage, errand: Errand, facts: HttpFacts) -> SessionMessage:
    """The same message with the number that was asked with, or what is wrong with it."""
    body, errand.body = errand.body or b"", None
    if (problem := _problem(item.message, errand, body, facts)) is not None:
        return unreadable_answer(errand.id, problem)
    item.message.id = errand.id  # pyright: ignore[reportAttributeAccessIssue]
    _put_back(item.message, errand.large)
    return item


def _put_back(message: Any, held: Taken) -> None:
    """A large result, in place of what stands for it."""
    result = getattr(message, "result", None)
    if isinstance(result, dict) and TAKEN_OUT in result:
        message.result = held.pop(cast("dict[str, Any]", result)[TAKEN_OUT]) or result


def _problem(message: Any, errand: Errand, body: bytes, facts: HttpFacts) -> str | None:
    if hasattr(message, "method"):
        return "it is not an answer but a message of its own"
    error = getattr(message, "error", None)
    if error is not None and error.code == PARSE_ERROR and message.id == errand.id:
        return why_no_message(body, facts.mask)
    # Some give the number back as text; in an error, none at all is allowed.
    is_ours = message.id is None or str(message.id) == str(errand.id)
    return None if is_ours else f"it answers request {message.id!r}, not ours"
