"""Access to servers that want somebody to sign in: had anew, forgotten, and looked up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.to_thread

from ..core.errors import SourceFailed
from ..core.sign_in import SignIn
from ..core.tools import Tool
from ..settings.models import ServerSettings, Settings
from ..sources.mcp.auth.store import Access

if TYPE_CHECKING:
    from .engine import Engine


async def sign_in(engine: Engine, server: str, how: SignIn | None) -> list[Tool]:
    """Forget the access to this server and get it anew; the tools that it then offers.

    Raises:
        SourceFailed: there is none to be had.
    """
    access = _access_to(engine, server)
    await sign_out(engine, server)
    engine.signing_in[server] = replace(access, sign_in=how or access.sign_in, is_forced=True)
    try:
        return await engine.list_tools(server)
    finally:
        del engine.signing_in[server]
        await engine.pool.stop(server)


async def sign_out(engine: Engine, server: str) -> bool:
    """Forget the access to this server, which is closed; whether there was any.

    Raises:
        SourceFailed: it is none that one signs in to.
    """
    access = _access_to(engine, server)
    await engine.pool.stop(server)
    return await anyio.to_thread.run_sync(access.store.forget, engine.settings.server(server))


async def where_signed_in(settings: Settings, access: Access | None) -> dict[str, str]:
    """Where somebody has signed in, for each server that has a token."""
    asked = [x for x in settings.servers.values() if _may_be_signed_in_to(x)]
    if access is None or not asked:
        return {}

    def look() -> dict[str, str]:
        records = {x.name: access.store.read_now(x) for x in asked}
        return {name: x.issuer or x.url for name, x in records.items() if x.access_token}

    return await anyio.to_thread.run_sync(look)


def _access_to(engine: Engine, server: str) -> Access:
    entry = engine.settings.server(server)
    if entry.transport == "stdio":
        reason = "it is started on this machine, and nobody signs in to it."
        raise SourceFailed(server, reason, "What it needs stands under `env`.")
    if engine.access is None or not _may_be_signed_in_to(entry):
        reason = "its settings have a header `Authorization`, or switch `auth` off."
        raise SourceFailed(server, reason, "Remove that to sign in.")
    return engine.access


def _may_be_signed_in_to(server: ServerSettings) -> bool:
    return server.transport != "stdio" and server.auth.use != "no"
