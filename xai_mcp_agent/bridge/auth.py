"""Signing in to servers, and out of them (OAuth)."""

from __future__ import annotations

from dataclasses import replace

import anyio.to_thread

from ..core.errors import SourceFailed
from ..core.sign_in import SignIn
from ..core.tools import Tool
from ..sources.mcp.auth.token_store import Access, can_be_signed_in_to
from .engine import Engine


async def sign_in(engine: Engine, server: str, how: SignIn | None) -> list[Tool]:
    """Forget the access to this server and get it anew; the tools that it then offers.

    Raises:
        SourceFailed: there is none to be had.
    """
    access = _access_to(engine, server)
    async with engine.one_sign_in[server]:
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


def _access_to(engine: Engine, server: str) -> Access:
    entry = engine.settings.server(server)
    if entry.transport == "stdio":
        reason = "it is started on this machine, and nobody signs in to it."
        raise SourceFailed(server, reason, "What it needs stands under `env`.")
    if engine.access is None or not can_be_signed_in_to(entry):
        reason = "its settings have a header `Authorization`, or switch `auth` off."
        raise SourceFailed(server, reason, "Remove that to sign in.")
    return engine.access
