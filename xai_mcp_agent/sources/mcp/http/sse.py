"""Event streams: large results taken out of them, and streams opened again with growing pauses.

The SDK reads each event on the event loop, and on streams of the older kind ends the connection
over one of more than a MiB. So an event is held back until it is whole, which is when it counts,
and a large one goes on as a short one that says where the answer is. It opens streams again as
often and as fast as a server makes it, or gives up for good after two failures in a row; here the
standing stream is opened again and again.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic_core import from_json

from ...web.large_json import SHORT_BYTES, TooMuch, read_large, takes_long
from ..backoff import Backoff
from ..wire.streams import INTERNAL_ERROR
from ..wire.watch import TROUBLE
from .facts import HttpFacts, RequestContext, current_request

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""An answer above this is broken or hostile, and memory matters more."""

TOO_LARGE = f"it is larger than {MAX_ANSWER_BYTES // 1024**2} MiB"

TAKEN_OUT = "xai-mcp-agent/large"
"""Key in a result that stands for a large one; the value is its name in `HttpFacts.large`."""

# As much arrives from a socket at once; a larger piece was unpacked.
_PAUSE_AFTER_BYTES = 64 * 1024
_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_OVERLAP = 3  # an end may be cut by the end of a piece
_ID = re.compile(rb'"id"\s*:\s*("[^"]{0,100}"|\d{1,18})')
_HEAD_BYTES = 300

# Somebody waits for what comes on a stream that goes on, so these pauses are short.
_FIRST_RESUMING_SECONDS = 0.05
_LONGEST_RESUMING_SECONDS = 5.0
# The server may be able to open it later; any other refusal means that it has no such stream.
_PASSING = (408, 425, 429, 500, 502, 503, 504)


async def with_short_events(
    pieces: AsyncGenerator[bytes], facts: HttpFacts
) -> AsyncIterator[bytes]:
    """The same stream; each large result in it is kept elsewhere, or refused if too large."""
    held, size, is_skipping = list[bytes](), 0, False
    async with aclosing(pieces):
        async for piece in pieces:
            begin, end = _ends(held, piece)
            if end < 0:
                held.append(piece)
                size += len(piece)
                if size > MAX_ANSWER_BYTES:
                    if not is_skipping:
                        head = b"".join(held[:2])
                        yield b"data: " + _refused(head, TOO_LARGE) + b"\n\n"
                    held, size, is_skipping = held[-1:], len(piece), True
                continue
            event = [*held, piece[:begin]]
            if not is_skipping and size > SHORT_BYTES:
                yield await _shortened_event(event, facts)
            elif not is_skipping:
                yield await _checked_event(b"".join(event), facts)
            for others in _events_in(piece[begin:end]):
                yield await _checked_event(others, facts)
            held, size, is_skipping = [piece[end:]], len(piece) - end, False
    if not is_skipping:
        yield b"".join(held)


async def shortened(data: bytes, facts: HttpFacts) -> bytes:
    """A short message that stands for a large one; the same one where it is not a result."""
    try:
        message = await _read(data)
    except TooMuch as cause:
        return _refused(data, str(cause))
    except ValueError:
        return b"{}"  # of no use either, and read in no time
    return _standing_for(message, data, facts)


async def _read(data: bytes) -> Any:
    if not takes_long(data):
        with suppress(ValueError):
            return from_json(data)
    # In a thread, and there in small steps: others on the loop go on meanwhile.
    return await anyio.to_thread.run_sync(read_large, data)


async def _shortened_event(event: list[bytes], facts: HttpFacts) -> bytes:
    # Its lines may be very many.
    fields, data = await anyio.to_thread.run_sync(_taken_apart, event)
    return b"\n".join([*fields, b"data: " + await shortened(data, facts), b"\n"])


async def _checked_event(event: bytes, facts: HttpFacts) -> bytes:
    """The same event, unless it is an answer that is not ours, or that only we can read."""
    if current_request() is None or not _may_be_an_answer(event):
        return event
    fields, data = _taken_apart([event])
    try:
        message = from_json(data)
    except ValueError:
        try:
            # What no other reader takes: very deep, or with an absurd number in it.
            message = await anyio.to_thread.run_sync(read_large, data)
        except ValueError:
            return event
        return b"\n".join([*fields, b"data: " + _standing_for(message, data, facts), b"\n"])
    why = _why_not_ours(message)
    return b"data: " + _refused(data, why) + b"\n\n" if why else event


def _may_be_an_answer(data: bytes) -> bool:
    return b'"result"' in data or b'"error"' in data


def _events_in(data: bytes) -> Iterator[bytes]:
    """Whole events one by one; all at once where none of them is an answer."""
    if not _may_be_an_answer(data):
        yield data
        return
    at = 0
    for end in _END.finditer(data):
        yield data[at : end.end()]
        at = end.end()


def _why_not_ours(message: Any) -> str:
    context = current_request()
    if context is None or not isinstance(message, dict) or "method" in message:
        return ""
    return context.why_not_mine(cast("dict[str, Any]", message).get("id"))


def _taken_apart(event: list[bytes]) -> tuple[list[bytes], bytes]:
    """The fields of an event but for its data, and the data."""
    lines = b"".join(event).splitlines()
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    return [x for x in lines if x and not x.startswith(b"data:")], b"\n".join(data)


def _standing_for(message: Any, data: bytes, facts: HttpFacts) -> bytes:
    if why := _why_not_ours(message):
        return _refused(data, why)
    found = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    result = found.get("result")
    if not isinstance(result, dict):
        return data
    context = current_request()
    kept = context.large if context is not None else facts.large
    name = kept.put(cast("dict[str, Any]", result))
    return json.dumps({**found, "result": {TAKEN_OUT: name}}).encode()


def _refused(head: bytes, why: str) -> bytes:
    context, found = current_request(), _ID.search(head[:_HEAD_BYTES])
    request = context.id if context is not None else json.loads(found[1]) if found else 0
    error = {"code": INTERNAL_ERROR, "message": why, "data": {TROUBLE: "unreadable"}}
    return json.dumps({"jsonrpc": "2.0", "id": request, "error": error}).encode()


def _ends(held: list[bytes], piece: bytes) -> tuple[int, int]:
    """Where in the piece the first event ends, and the last; -1 where none does."""
    before = held[-1][-_OVERLAP:] if held else b""
    found = [x.end() - len(before) for x in _END.finditer(before + piece)]
    # An end within what was held already is none: it would have been found then.
    found = [x for x in found if x > 0]
    return (found[0], found[-1]) if found else (-1, -1)


def with_short_answers(response: httpx2.Response, facts: HttpFacts) -> httpx2.Response:
    """The same answer, unpacked, without large results in its events."""
    import httpx2

    class Stream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in with_short_events(in_pieces(response), facts):
                yield piece

        async def aclose(self) -> None:
            await response.aclose()

    kept = {x: y for x, y in response.headers.items() if x not in _OF_THE_BODY}
    return httpx2.Response(
        response.status_code, headers=kept, stream=Stream(), request=response.request
    )


async def in_pieces(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The body, unpacked, in pieces of at most one MiB.

    Few bytes can unpack to very many. Without a pause between the pieces all other servers would
    stand still for as long as that takes.
    """
    async for piece in response.aiter_bytes():
        yield piece
        if len(piece) > _PAUSE_AFTER_BYTES:
            await anyio.lowlevel.checkpoint()


class SseStreams:
    """Those of one connection."""

    def __init__(self) -> None:
        self._pauses = Backoff()

    async def open(self, ask: Callable[[], Awaitable[httpx2.Response]]) -> httpx2.Response:
        """Open one by `ask`, after a pause if one was opened not long ago.

        Raises:
            HTTPStatusError: the server has no such stream.
            RequestError: nobody waits any more for what would come on it.
        """
        import httpx2

        if (context := current_request()) is not None:
            await _pause_before_resuming(context)
            return await ask()
        while True:
            await self._pauses.before_opening()
            try:
                return await ask()
            except httpx2.HTTPStatusError as refusal:
                if refusal.response.status_code not in _PASSING:
                    raise
            except httpx2.RequestError:
                continue  # whether the server is gone is found out by asking it something


async def _pause_before_resuming(context: RequestContext) -> None:
    import httpx2

    pause = min(_FIRST_RESUMING_SECONDS * 2**context.resumed, _LONGEST_RESUMING_SECONDS)
    context.resumed = min(context.resumed + 1, 10)  # no pause grows any more after that
    await anyio.sleep(pause)
    if anyio.current_time() > context.deadline:
        # In the handshake era a request outlives the call that made it.
        raise httpx2.ReadTimeout("nobody waits for the answer any more")
