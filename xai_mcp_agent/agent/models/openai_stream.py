"""Reads the body of a response as chunks, and tells how it ended.

A stream ends with `[DONE]`, or with a piece that says so; one that just stops was dropped on the
way, however cleanly the connection was closed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anyio

from ...core.errors import ModelUnreachable
from . import openai_errors as errors
from . import openai_failures as failures
from .fields import mapping

_MAX_EVENT_BYTES = 64 * 1024 * 1024  # a piece may hold a picture
_DRAIN_SECONDS = 0.1  # to read to the end after the last piece: the connection serves again
# The last event of the Responses API; in Chat Completions the tokens may follow the end.
_LAST = {"response.completed", "response.incomplete", "response.failed"}


async def chunks(http: Any, service: errors.Service) -> AsyncGenerator[Any]:
    """The answer as chunks: many from a stream, one from a service that does not stream.

    If it did not come to its end, the last one is the `Failure`; nothing is raised.
    """
    # Here, because it is heavy; it was loaded when the client was made.
    import httpx2

    try:
        async for chunk in _raw_chunks(http, service):
            failed = failures.body_failure(chunk, service)
            yield failed or chunk
            if failed:
                return
    except httpx2.HTTPError as cause:
        yield failures.failure(cause, service)
    except ValueError as cause:
        step = "Check `base_url` and the server's log."
        yield failures.Failure(
            ModelUnreachable(service.says("sent what is not JSON", step, str(cause)))
        )
    finally:
        with anyio.CancelScope(shield=True):
            await http.aclose()


async def _raw_chunks(http: Any, service: errors.Service) -> AsyncIterator[Any]:
    kind = http.headers.get("content-type", "").lower()
    if "html" in kind:
        yield failures.Failure(errors.web_page_error(http.status_code, service))
    elif "event-stream" not in kind and "json" in kind:
        for chunk in _whole_chunks((await http.aread()).decode("utf-8", "replace"), service):
            yield chunk
    else:
        async for chunk in _streamed_chunks(http, service):
            yield chunk


async def _streamed_chunks(http: Any, service: errors.Service) -> AsyncIterator[Any]:
    import httpx2  # Loaded already, see `chunks`.

    http.headers["content-type"] = "text/event-stream"  # some leave it out; the reader insists
    events = aiter(httpx2.EventSource(http, max_event_size=_MAX_EVENT_BYTES))
    async for event in events:
        is_last = event.data.startswith("[DONE]")
        if event.data and not is_last:
            chunk = json.loads(event.data)
            yield chunk
            is_last = mapping(chunk).get("type") in _LAST
        if is_last:
            with anyio.move_on_after(_DRAIN_SECONDS):
                async for _ in events:
                    pass
            return
    yield failures.dropped(service)


def _whole_chunks(text: str, service: errors.Service) -> list[Any]:
    """The chunks in a body that was read whole; some servers call a stream JSON."""
    text = text.strip()
    if text.startswith("data:"):
        lines = [x.removeprefix("data:").strip() for x in text.splitlines() if x.strip()]
        found = [json.loads(x) for x in lines if x.startswith("{")]
        return found if "[DONE]" in lines else [*found, failures.dropped(service)]
    if text.startswith("{") and not text.endswith("}"):
        return [failures.dropped(service)]
    return [json.loads(text)]
