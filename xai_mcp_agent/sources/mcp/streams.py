"""Base of our streams for the SDK, which enters and closes the streams that it is given."""

from __future__ import annotations

from typing import Self


class Stream:
    """Stream that closes nothing: whoever opened the connection ends it as a whole."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None
