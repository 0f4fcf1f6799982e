"""HTTP responses in a form that the SDK can read: refusals, answers that are no message.

The SDK forgets the HTTP status of a refusal, reads answers of any size, and ends the whole
connection when one answer breaks off. So such an answer becomes an error answer to that one
request, and the facts are kept.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

from ....secrets.secrets import masked_and_cut
from ...web.large_json import SHORT_BYTES
from ...web.network_errors import by_which_way, has_too_many_files
from ..auth.errors import AuthFailure
from ..wire.streams import INTERNAL_ERROR, METHOD_NOT_FOUND
from ..wire.watch import HTTP_STATUS, NEXT_STEP, TROUBLE, Trouble
from .body_problems import what_came_instead, words_of
from .facts import SESSION_HEADER, HttpFacts, RequestContext, current_request
from .redirects import why_not_followed
from .sse import MAX_ANSWER_BYTES, TOO_LARGE, in_pieces, shortened, with_short_answers

if TYPE_CHECKING:
    import httpx2

# Only the head of an error page is of use to a reader.
_MAX_REFUSAL_BYTES = 64 * 1024
_JSON = "application/json"
_STREAM = "text/event-stream"
_ACCEPTED = 202
_PACKINGS = ("gzip", "deflate", "br", "zstd", "compress")
_NO_ENDPOINT = (400, 404, 405)
# Others are not read by it, or no longer true of a body that was read and unpacked.
_HEADERS_FOR_THE_SDK = (b"content-type", SESSION_HEADER.encode(), b"www-authenticate")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


async def as_the_sdk_can_read_it(
    request: httpx2.Request, response: httpx2.Response, facts: HttpFacts
) -> httpx2.Response:
    """An answer as it came, or what stands for it where the SDK could not use it."""
    context = current_request()
    kind = response.headers.get("content-type", "").lower()
    if context is None:
        return response
    if why := _why_not_unpacked(response):
        await response.aclose()
        return _unreadable(request, why)
    facts.answers_in_json = kind.startswith(_JSON)
    if kind.startswith(_STREAM):
        return with_short_answers(response, facts)
    if facts.answers_in_json:
        return await _json_answer(request, response, context, facts)
    if response.status_code == _ACCEPTED:
        return _unreadable(request, "it was only accepted (HTTP 202), so no answer can come")
    body = await _body(response, _MAX_REFUSAL_BYTES)
    text = what_came_instead(response.status_code, kind, body, facts.mask)
    return _unreadable(request, text)


async def _json_answer(
    request: httpx2.Request, response: httpx2.Response, context: RequestContext, facts: HttpFacts
) -> httpx2.Response:
    if _is_small(response):
        # Here, where it may break off without harm to others.
        context.body = await response.aread()
        if not context.body.startswith(BYTE_ORDER_MARK):
            return response
    pieces = await _pieces(response, MAX_ANSWER_BYTES)
    # Before they are put together: that much copying would hold up everybody, and for nothing.
    if sum(map(len, pieces)) > MAX_ANSWER_BYTES:
        return _unreadable(request, TOO_LARGE)
    context.body = body = b"".join(pieces).removeprefix(BYTE_ORDER_MARK)
    if len(body) > SHORT_BYTES:
        body = await shortened(body, facts)
    return _with_body(request, response, body)


def note_a_refusal(response: httpx2.Response, facts: HttpFacts) -> None:
    """Remember that a request was refused whose answer would come on another stream."""
    facts.failure = f"a request was answered with HTTP {response.status_code}"
    facts.on_doubt()


def broken_off(
    request: httpx2.Request, cause: httpx2.RequestError, facts: HttpFacts
) -> httpx2.Response:
    """An answer in place of the one that never came, or never came to its end.

    Raises:
        RequestError: a standing stream broke, which the SDK opens again by itself.
    """
    import httpx2

    facts.failure = _words_of(cause, facts) + by_which_way(str(request.url))
    facts.on_doubt()
    if request.method == "GET":
        raise cause
    if request.method == "DELETE":
        return httpx2.Response(200, request=request)  # the session it should end is gone anyway
    if isinstance(cause, httpx2.DecodingError):
        return _unreadable(request, "it cannot be unpacked")
    never_sent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
    trouble: Trouble = "unsent" if never_sent else "broken"
    return _error_answer(request, 503, facts.failure, trouble=trouble)


def gone_wrong(request: httpx2.Request, cause: Exception, facts: HttpFacts) -> httpx2.Response:
    """An answer to a request that could not be made at all."""
    return _error_answer(request, 500, _words_of(cause, facts))


def without_access(
    request: httpx2.Request, failure: AuthFailure, facts: HttpFacts
) -> httpx2.Response:
    """An answer in place of the one that there is none without access."""
    facts.status, facts.failure, facts.no_access = 401, "", failure
    return _error_answer(request, 401, failure.problem, next_step=failure.next_step)


async def refusal(
    request: httpx2.Request, response: httpx2.Response, facts: HttpFacts, remark: str
) -> httpx2.Response:
    """A refusal as a JSON-RPC error, which it may be already; `remark` goes with it.

    A redirect that the SDK will follow is passed on as it is.

    Raises:
        HTTPStatusError: a stream was refused, which has nobody to read an error answer.
    """
    if response.has_redirect_location:
        if not (why := why_not_followed(response, facts.mask)):
            return response
        await response.aclose()
        return _refused(request, response, why)
    body = await _body_of_a_refusal(response)
    error = _rpc_error_in(body)
    facts.has_no_endpoint = response.status_code in _NO_ENDPOINT and not error
    if SESSION_HEADER in request.headers and _is_forgotten(response.status_code, error):
        text = "the server has forgotten our session"
        return _error_answer(request, response.status_code, text, trouble="forgotten")
    if error and not remark and request.method != "GET":
        return _with_body(request, response, body)
    said = error.get("message") or words_of(body, response.headers.get("content-type", ""))
    shown = masked_and_cut(str(said), facts.mask)
    text = f"HTTP {response.status_code}" + (f": {shown}" if shown else "")
    return _refused(request, response, text + (f" ({remark})" if remark else ""))


def _refused(request: httpx2.Request, response: httpx2.Response, text: str) -> httpx2.Response:
    import httpx2

    if request.method == "GET":
        raise httpx2.HTTPStatusError(text, request=request, response=response)
    challenge = [x for x in response.headers.raw if x[0].lower() == b"www-authenticate"]
    return _error_answer(request, response.status_code, text, challenge=challenge)


def _words_of(cause: Exception, facts: HttpFacts) -> str:
    """An exception for a sentence, which ends with a full stop of its own."""
    if has_too_many_files(cause):
        return "too many open files here"
    text = masked_and_cut(f"{type(cause).__name__}: {cause}", facts.mask)
    return text.rstrip(": .")


def _is_forgotten(status: int, error: dict[str, Any]) -> bool:
    """Whether a server has refused a request for the session it came in, and so not carried it out.

    In a session the server has to answer 404 once it has forgotten it (MCP, transports), and
    clients to begin a new one. Servers made from the TypeScript SDK's examples answer 400.
    """
    if status == 404:
        return error.get("code") != METHOD_NOT_FOUND
    return status == 400 and "session" in str(error.get("message", "")).lower()


def _rpc_error_in(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = cast(dict[str, Any], found).get("error") if isinstance(found, dict) else None
    is_ours = isinstance(error, dict) and "jsonrpc" in found and "code" in error
    return cast(dict[str, Any], error) if is_ours else {}


def watched(response: httpx2.Response, facts: HttpFacts) -> httpx2.Response:
    """The same answer; the end of a standing stream may be the end of the server."""
    import httpx2

    response = with_short_answers(response, facts)

    class Stream(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._inner:
                    yield chunk
            except httpx2.RequestError as cause:
                facts.failure = _words_of(cause, facts)
                raise
            finally:
                facts.on_doubt()

        async def aclose(self) -> None:
            await self._inner.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Stream(response.stream)
    return response


async def _body_of_a_refusal(response: httpx2.Response) -> bytes:
    """What it says; nothing where that cannot be unpacked, for its status says enough."""
    import httpx2

    if not _why_not_unpacked(response):
        with suppress(httpx2.DecodingError):
            return await _body(response, _MAX_REFUSAL_BYTES)
    await response.aclose()
    return b""


def _why_not_unpacked(response: httpx2.Response) -> str:
    """Why nobody should try to unpack this answer, for a sentence; else empty."""
    listed = response.headers.get_list("content-encoding", split_commas=True)
    # Anything else is a mistake that changes nothing, such as the name of a character set.
    names = [x.strip().lower() for x in listed if x.strip().lower() in _PACKINGS]
    unknown = [x for x in names if x not in response.request.headers.get("accept-encoding", "")]
    if unknown:
        return f"it is packed as {unknown[0]!r}, which was not asked for"
    # Each time once more a thousand times as much, all of it at once in memory.
    return f"it is packed {len(names)} times over" if len(names) > 1 else ""


async def _body(response: httpx2.Response, at_most: int) -> bytes:
    """The body, unpacked; one byte or more too long when there is more than `at_most`."""
    return b"".join(await _pieces(response, at_most))


async def _pieces(response: httpx2.Response, at_most: int) -> list[bytes]:
    """The same in the pieces in which it came."""
    pieces: list[bytes] = []
    size = 0
    try:
        async with aclosing(in_pieces(response)) as unpacked:
            async for piece in unpacked:
                pieces.append(piece)
                size += len(piece)
                if size > at_most:
                    break
    finally:
        await response.aclose()
    return pieces


def _is_small(response: httpx2.Response) -> bool:
    """Whether it says how long it is, as it comes, and that is not too much."""
    length = response.headers.get("content-length", "")
    is_packed = "content-encoding" in response.headers
    return length.isdecimal() and int(length) <= SHORT_BYTES and not is_packed


def _with_body(request: httpx2.Request, response: httpx2.Response, body: bytes) -> httpx2.Response:
    import httpx2

    # As they came: what is no text would not become bytes again.
    told = [(name.lower(), value) for name, value in response.headers.raw]
    kept = [(name, value) for name, value in told if name in _HEADERS_FOR_THE_SDK]
    # As a stream: as content it would be measured and described again, which takes longer.
    stream = httpx2.ByteStream(body)
    return httpx2.Response(response.status_code, headers=kept, stream=stream, request=request)


def _unreadable(request: httpx2.Request, why: str) -> httpx2.Response:
    return _error_answer(request, 0, why, trouble="unreadable")


def _error_answer(
    request: httpx2.Request,
    status: int,
    message: str,
    *,
    challenge: Sequence[tuple[bytes, bytes]] = (),
    trouble: Trouble | None = None,
    next_step: str = "",
) -> httpx2.Response:
    import httpx2

    data = {HTTP_STATUS: status, TROUBLE: trouble, NEXT_STEP: next_step}
    error = {"code": INTERNAL_ERROR, "message": message, "data": data}
    return httpx2.Response(
        max(status, 400),  # or the SDK would not look for the error
        headers=list(challenge),
        json={"jsonrpc": "2.0", "id": None, "error": error},
        request=request,
    )
