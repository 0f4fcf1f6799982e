"""A stream of messages with something of ours around it."""

from __future__ import annotations

from typing import Any, Self


class Wrapped:
    """Opens, closes and does all else as the stream in it, until a subclass says otherwise."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._inner.__aexit__(*exc)

    def __aiter__(self) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
