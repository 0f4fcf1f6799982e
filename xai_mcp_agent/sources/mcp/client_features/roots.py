"""The folders a server may work with, as it is told when it asks (MCP: roots).

A server may take them as the only folders it is allowed: `server-filesystem` does, in place of
those in its arguments. So by default it is told just those, and the working folder where its
arguments name none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....settings.server import ServerSettings
from ..wire.streams import is_modern

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client


class Roots:
    """The folders one server is told of; `told` are those it was told when it asked last."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.told: tuple[str, ...] = ()

    @property
    def are_offered(self) -> bool:
        """Whether the server may ask at all. What is far away has no use for folders here."""
        chosen = self._settings.roots
        return bool(chosen) if chosen is not None else self._settings.transport == "stdio"

    async def answer(self, _context: Any) -> types.ListRootsResult:
        """The SDK's callback."""
        import mcp_types as types  # as heavy as the SDK, which is loaded when this is called
        from pydantic import FileUrl

        self.told = folders = self._folders()
        return types.ListRootsResult(
            roots=[
                types.Root(uri=FileUrl(Path(folder).as_uri()), name=Path(folder).name or folder)
                for folder in folders
            ]
        )

    async def tell_changes(self, client: Client) -> None:
        """Tell a server that was `told` folders, if the working folder is another one now.

        Only the handshake era: on 2026-07-28 a server asks whenever it wants to know.
        """
        if not is_modern(client.protocol_version) and self.told != self._folders():
            self.told = ()  # once, until it asks again
            import mcp_types as types

            # Not by its own method, which warns whoever reads stderr that this is deprecated.
            await client.session.send_notification(types.RootsListChangedNotification())

    def _folders(self) -> tuple[str, ...]:
        if self._settings.roots is not None:
            return self._settings.roots
        return _folders_in(self._settings) or _working_folder()


def _working_folder() -> tuple[str, ...]:
    """None if it was removed meanwhile: that must not cost a call."""
    try:
        return (os.getcwd(),)
    except FileNotFoundError:
        return ()


def _folders_in(settings: ServerSettings) -> tuple[str, ...]:
    """The folders that stand in the arguments, also as `--name=folder`."""
    values = (x.rpartition("=")[2] if x.startswith("-") else x for x in settings.args)
    paths = (os.path.normpath(os.path.join(settings.cwd, x)) for x in values if x)
    return tuple(dict.fromkeys(path for path in paths if os.path.isdir(path)))
