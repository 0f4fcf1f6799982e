"""The same scripts for a service that is asked natively: pydantic-ai's own model plays it."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tests.agent.models.wires import ADD, KEY, ask
from tests.support.model_endpoint import Script, Step
from xai_mcp_agent import ModelError, Secret


class NativeService:
    """Answers each request by the next step: one of `Step`, pieces as they are, or an error."""

    base_url = ""

    def __init__(self, script: Script | Sequence[Any]) -> None:
        self.requests: list[tuple[list[Any], Any]] = []
        self.first_request = threading.Event()
        self._next: Callable[[Any], Any] = script if callable(script) else iter(script).__next__
        self._takes_body = callable(script)

    async def stream(self, messages: list[Any], info: Any) -> AsyncGenerator[Any]:
        """Yield one answer in the form of `FunctionModel`."""
        from pydantic_ai import exceptions

        self.requests.append((messages, info))
        self.first_request.set()
        step = self._next(None) if self._takes_body else self._next()  # pyright: ignore[reportCallIssue]
        if isinstance(step, Step) and step.kind == "hangs":
            await anyio.sleep_forever()
        if isinstance(step, Step) and step.kind == "raw":
            body = _json(step.body)
            headers = {**step.headers}
            raise exceptions.ModelHTTPError(step.status, "small", body, headers=headers)
        if isinstance(step, Exception):
            raise step
        for piece in _pieces(step.message) if isinstance(step, Step) else step:
            if isinstance(piece, Exception):
                raise piece
            await anyio.sleep(getattr(step, "pause_seconds", 0))
            yield piece
        if isinstance(step, Step) and step.kind == "drops":
            raise exceptions.ModelConnectionError("small", "peer closed connection")


class NativeWire:
    """A `ScriptedWire` without HTTP."""

    provider = "anthropic"

    @asynccontextmanager
    async def model_of(
        self, script: Script | Sequence[Any], model: str = "small", **options: Any
    ) -> AsyncGenerator[tuple[Any, NativeService]]:
        """A model whose service follows the script."""
        from pydantic_ai.models.function import FunctionModel

        from xai_mcp_agent.agent.models.providers import NativeModel

        class WholeModel(FunctionModel):
            """Gives a reason for its end, as every service does."""

            @asynccontextmanager
            async def request_stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
                async with super().request_stream(*args, **kwargs) as stream:
                    stream.finish_reason = "stop"
                    yield stream

        service = NativeService(script)
        native = WholeModel(stream_function=service.stream)
        options = {"api_key": Secret(KEY), **options}
        subject = NativeModel(self.provider, model, **options)
        subject._open = lambda: native
        with anyio.fail_after(20):
            yield subject, service

    async def error_of(self, script: Script | Sequence[Any], **options: Any) -> ModelError:
        """Return the error of a model whose service follows the script."""
        async with self.model_of(script, **options) as (subject, _):
            with pytest.raises(ModelError) as caught:
                await ask(subject, ADD)
            assert KEY not in str(caught.value)
            assert "anthropic small" in str(caught.value)
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)
            return caught.value


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


def _pieces(message: dict[str, Any]) -> list[Any]:
    from pydantic_ai.models.function import DeltaToolCall

    text = message.get("content") or ""
    pieces: list[Any] = [text[at : at + 7] for at in range(0, len(text), 7)]
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        name, arguments = function["name"], function["arguments"]
        pieces.append({index: DeltaToolCall(name, arguments[:5], tool_call_id=call["id"])})
        pieces.append({index: DeltaToolCall(None, arguments[5:])})
    return pieces
