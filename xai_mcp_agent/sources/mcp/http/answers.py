"""What came of one HTTP request, in a form that the SDK can read.

The SDK forgets the HTTP status of a refusal, reads answers of any size, and ends the whole
connection when one answer breaks off. So such an answer becomes an error answer to that one
request, and the facts are kept.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

from ..auth.errors import AuthFailure
from ..watch import NEXT_STEP, TROUBLE, Trouble
from .facts import HttpFacts

if TYPE_CHECKING:
    import httpx2

# An answer above this is broken or hostile, and memory matters more.
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Only the head of an error page is of use to a reader; more than this is not even read.
_SHOWN_BODY = 300
_MAX_REFUSAL_BYTES = 64 * 1024
# JSON-RPC's own codes; the first one stands for anything that went wrong on the way.
_INTERNAL_ERROR = -32603
_METHOD_NOT_FOUND = -32601
# Others are not read by it, or no longer true of a body that was read and unpacked.
_HEADERS_FOR_THE_SDK = ("content-type", "mcp-session-id", "www-authenticate")


async def as_the_sdk_can_read_it(
    request: httpx2.Request, response: httpx2.Response, facts: HttpFacts
) -> httpx2.Response:
    """An answer as it came, or what stands for it where the SDK could not use it."""
    if request.method == "GET":
        return _watched(response, facts)
    if _is_json(response):
        if _is_small(response):
            await response.aread()  # here, where it may break off without harm to others
            return response
        body = await _body(response, MAX_ANSWER_BYTES)
        if len(body) > MAX_ANSWER_BYTES:
            size = MAX_ANSWER_BYTES // 1024**2
            text = f"it is larger than {size} MiB"
            return _error_answer(request, 502, text, trouble="unreadable")
        return _with_body(request, response, body)
    return response


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

    facts.failure = f"{type(cause).__name__}: {cause}".rstrip(": ")
    facts.on_doubt()
    if request.method == "GET":
        raise cause
    if request.method == "DELETE":
        return httpx2.Response(200, request=request)  # the session it should end is gone anyway
    if isinstance(cause, httpx2.DecodingError):
        return _error_answer(request, 502, "it cannot be unpacked", trouble="unreadable")
    never_sent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
    trouble: Trouble = "unsent" if never_sent else "broken"
    return _error_answer(request, 503, facts.failure, trouble=trouble)


def gone_wrong(request: httpx2.Request, cause: Exception) -> httpx2.Response:
    """An answer to a request that could not be made at all."""
    return _error_answer(request, 500, f"{type(cause).__name__}: {cause}".rstrip(": "))


def without_access(
    request: httpx2.Request, failure: AuthFailure, facts: HttpFacts
) -> httpx2.Response:
    """An answer in place of the one that there is none without access."""
    facts.status, facts.failure, facts.no_access = 401, "", failure
    return _error_answer(request, 401, failure.problem, next_step=failure.next_step)


async def refusal(
    request: httpx2.Request, response: httpx2.Response, facts: HttpFacts, remark: str
) -> httpx2.Response:
    """A refusal as a JSON-RPC error, which it may be already; `remark` goes with it."""
    if request.method == "GET":
        return _watched(response, facts)
    body = await _body(response, _MAX_REFUSAL_BYTES)
    error = _rpc_error_in(body)
    if "mcp-session-id" in request.headers and _is_forgotten(response.status_code, error):
        text = "the server has forgotten our session"
        return _error_answer(request, response.status_code, text, trouble="forgotten")
    if error and not remark:
        return _with_body(request, response, body)
    is_page = "html" in response.headers.get("content-type", "")
    words = "an HTML page" if is_page else body.decode("utf-8", "replace").strip()
    # Masked before it is cut: half a secret is not recognised.
    said = facts.mask(str(error.get("message", "")) if error else words)[:_SHOWN_BODY]
    text = f"HTTP {response.status_code}" + (f": {said}" if said else "")
    text += f" ({remark})" if remark else ""
    challenge = response.headers.get("www-authenticate")
    return _error_answer(request, response.status_code, text, challenge=challenge)


def _is_forgotten(status: int, error: dict[str, Any]) -> bool:
    """Whether a server has refused a request for the session it came in, and so not carried it out.

    In a session the server has to answer 404 once it has forgotten it (MCP, transports), and
    clients to begin a new one. Servers made from the TypeScript SDK's examples answer 400.
    """
    if status == 404:
        return error.get("code") != _METHOD_NOT_FOUND
    return status == 400 and "session" in str(error.get("message", "")).lower()


def _rpc_error_in(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = cast(dict[str, Any], found).get("error") if isinstance(found, dict) else None
    is_ours = isinstance(error, dict) and "jsonrpc" in found and "code" in error
    return cast(dict[str, Any], error) if is_ours else {}


def _watched(response: httpx2.Response, facts: HttpFacts) -> httpx2.Response:
    """The same answer; the end of a standing stream may be the end of the server."""
    import httpx2

    class Stream(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._inner:
                    yield chunk
            except httpx2.RequestError as cause:
                facts.failure = f"{type(cause).__name__}: {cause}".rstrip(": ")
                raise
            finally:
                facts.on_doubt()

        async def aclose(self) -> None:
            await self._inner.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Stream(response.stream)
    return response


async def _body(response: httpx2.Response, at_most: int) -> bytes:
    """The body, unpacked; one byte or more too long when there is more than `at_most`."""
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in response.aiter_bytes(65536):
            chunks.append(chunk)
            size += len(chunk)
            if size > at_most:
                break
    finally:
        await response.aclose()
    return b"".join(chunks)


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("application/json")


def _is_small(response: httpx2.Response) -> bool:
    """Whether it says how long it is, as it comes, and that is not too much."""
    length = response.headers.get("content-length", "")
    is_packed = "content-encoding" in response.headers
    return length.isdecimal() and int(length) <= MAX_ANSWER_BYTES and not is_packed


def _with_body(request: httpx2.Request, response: httpx2.Response, body: bytes) -> httpx2.Response:
    import httpx2

    told = response.headers
    kept = {name: told[name] for name in _HEADERS_FOR_THE_SDK if name in told}
    # As a stream: as content it would be measured and described again, which takes longer.
    stream = httpx2.ByteStream(body)
    return httpx2.Response(response.status_code, headers=kept, stream=stream, request=request)


def _error_answer(
    request: httpx2.Request,
    status: int,
    message: str,
    *,
    challenge: str | None = None,
    trouble: Trouble | None = None,
    next_step: str = "",
) -> httpx2.Response:
    import httpx2

    data = {"http_status": status, TROUBLE: trouble, NEXT_STEP: next_step}
    error = {"code": _INTERNAL_ERROR, "message": message, "data": data}
    return httpx2.Response(
        status,
        headers={"www-authenticate": challenge} if challenge else None,
        json={"jsonrpc": "2.0", "id": None, "error": error},
        request=request,
    )
