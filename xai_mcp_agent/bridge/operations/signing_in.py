"""Signing in to servers, and out of them (OAuth)."""

from __future__ import annotations

from dataclasses import replace

import anyio.to_thread

from ...core.errors import SourceFailed
from ...core.questions import SignIn
from ...core.tools import Tool
from ...sources.mcp.auth.token_store import Access, can_be_signed_in_to
from ..context import OperationContext


class SignInOperations(OperationContext):
    """Access to servers behind a URL."""

    async def sign_in(self, server: str, sign_in: SignIn | None = None) -> list[Tool]:
        """Sign in again to a server behind a URL, and list its tools.

        `sign_in` asks a person to do so; the default is the bridge's.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it failed; the message says why.
        """
        engine, access = self.engine, self._access_to(server)
        async with engine.sign_in_locks[server]:
            await self.sign_out(server)
            sign_in = sign_in or access.sign_in
            engine.signing_in[server] = replace(access, sign_in=sign_in, is_forced=True)
            try:
                return list(await self.tools_of(server))
            finally:
                del engine.signing_in[server]
                await engine.close_source(server)

    async def sign_out(self, server: str) -> bool:
        """Delete the tokens of a server behind a URL; return whether there were any.

        Raises:
            UnknownServer, SettingsError, SourceFailed: this server has no sign-in.
        """
        access = self._access_to(server)
        await self.engine.close_source(server)
        return await anyio.to_thread.run_sync(access.store.forget, self.settings.server(server))

    def _access_to(self, server: str) -> Access:
        entry, access = self.settings.server(server), self.engine.access
        if entry.transport == "stdio":
            reason = "it is started on this machine, so there is no sign-in."
            raise SourceFailed(server, reason, "Put what it needs under `env`.")
        if access is None or not can_be_signed_in_to(entry):
            reason = "its settings have a header `Authorization` or a user in `url`, or no `auth`."
            raise SourceFailed(server, reason, "Remove that to sign in.")
        return access
