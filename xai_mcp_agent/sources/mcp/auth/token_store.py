"""Token store: a private folder with a record and a lock for each server's URL."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from pydantic import TypeAdapter

from ....core.questions import SignIn
from ....secrets.private_files import (
    NotOurs,
    close_lock,
    close_to_others,
    make_private_folder,
    open_lock,
    replace_private,
    take_lock,
)
from ....settings.server import ServerSettings

logger = logging.getLogger(__name__)

# A token is renewed this long before it expires, or a tenth of its life if that is shorter, because
# a request takes time and clocks differ.
_EARLY_SECONDS = 30.0
_EARLY_SHARE = 0.1
_POLL_SECONDS = 0.05  # between two tries to take a file lock


@dataclass(frozen=True, repr=False)
class Record:
    """OAuth access to the server at `url`, granted by `issuer`.

    `expires_at` is in seconds since 1970. `client` is our registration at the issuer, `service` the
    issuer's metadata, `resource` the server's metadata. The repr shows no secret.
    """

    url: str
    issuer: str = ""
    tokens: dict[str, Any] | None = None
    expires_at: float | None = None
    client: dict[str, Any] | None = None
    service: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None

    @property
    def access_token(self) -> str:
        """Token to send with requests, or an empty text."""
        return str((self.tokens or {}).get("access_token") or "")

    @property
    def can_be_renewed(self) -> bool:
        """Whether the token can be renewed without a person; the service must be known, too."""
        return bool((self.tokens or {}).get("refresh_token") and self.client and self.service)

    def is_fresh(self) -> bool:
        """Return whether there is a token that has not expired, as far as is known."""
        if self.expires_at is None or not self.access_token:
            return bool(self.access_token)
        life = (self.tokens or {}).get("expires_in") or 0
        early = min(_EARLY_SECONDS, life * _EARLY_SHARE) if self.can_be_renewed else 0.0
        return time.time() < self.expires_at - early

    def secrets(self) -> Iterator[str]:
        """Yield the record's secrets."""
        tokens, client = self.tokens or {}, self.client or {}
        refresh_token, client_secret = tokens.get("refresh_token"), client.get("client_secret")
        yield from (str(x) for x in (self.access_token, refresh_token, client_secret) if x)

    def __repr__(self) -> str:
        has = "a token" if self.tokens else "no token"
        return f"<Record of {self.url}: {has}, issuer {self.issuer or 'unknown'}>"


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


@dataclass(frozen=True)
class Access:
    """Token store and sign-in that all servers of a bridge share.

    `sign_in` is None if there is no person. `is_forced`: sign in even if the server does not ask
    for it.
    """

    store: TokenStore
    sign_in: SignIn | None = None
    is_forced: bool = False


def can_be_signed_in_to(server: ServerSettings) -> bool:
    """Return whether the server's settings allow a sign-in; a user in the URL replaces it."""
    url = urlsplit(server.url)
    has_user = server.auth.use == "auto" and bool(url.username or url.password)
    return server.transport != "stdio" and server.auth.use != "no" and not has_user


class TokenStore:
    """Tokens in one folder. `notes` are remarks about the folder, for people."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[str] = []

    async def read(self, server: ServerSettings) -> Record:
        """Return a server's record, or an empty one if nothing useful is stored."""
        return await anyio.to_thread.run_sync(self._read, server)

    async def write(self, server: ServerSettings, record: Record) -> None:
        """Store a record, even if cancelled: the previous one may be void by now.

        If writing fails, a note says so, and the token still serves for this run.
        """
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._write, self._file(server), record)

    @asynccontextmanager
    async def lock(self, server: ServerSettings) -> AsyncGenerator[None]:
        """Hold a server's lock, so that one process at a time gets a token.

        If files cannot be locked (some network drives), it continues without a lock.
        """
        await anyio.to_thread.run_sync(self._has_folder)
        file = open_lock(self._file(server).with_suffix(".lock"))
        try:
            while file is not None and not take_lock(file):  # noqa: ASYNC110 - files have no event
                await anyio.sleep(_POLL_SECONDS)
            yield
        finally:
            if file is not None:
                close_lock(file)

    async def where_signed_in(self, servers: Iterable[ServerSettings]) -> dict[str, str]:
        """Return the issuer of the token for each server that has one."""
        records = {x.name: await self.read(x) for x in servers if can_be_signed_in_to(x)}
        return {name: x.issuer or x.url for name, x in records.items() if x.access_token}

    def forget(self, server: ServerSettings) -> bool:
        """Delete a server's record; return whether it had a token."""
        had_token = bool(self._read(server).access_token)
        self._file(server).unlink(missing_ok=True)
        return had_token

    def _file(self, server: ServerSettings) -> Path:
        """Return the record's file, named by URL and client: another client has other tokens."""
        auth = server.auth
        identity = "\n".join((server.url, auth.grant, auth.client_id, auth.client_metadata_url))
        return self.folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"

    def _read(self, server: ServerSettings) -> Record:
        nothing, file = Record(server.url), self._file(server)
        try:
            if not self._is_ours_alone(file):
                return nothing
            record = _adapter().validate_json(file.read_bytes())
        except FileNotFoundError:
            return nothing
        except OSError as reason:
            self._note(f"{file} cannot be read ({reason.strerror}): sign in again.")
            return nothing
        except ValueError:
            record = nothing
        life = (record.tokens or {}).get("expires_in")
        if (
            record is nothing
            or record.url != server.url
            or not isinstance(life, int | float | None)
        ):
            self._note(f"{file} was not understood: sign in again.")
            return nothing
        return record

    def _write(self, file: Path, record: Record) -> None:
        try:
            if self._has_folder():
                replace_private(file, _adapter().dump_json(record, indent=1))
        except OSError as reason:
            self._note(
                f"{file} cannot be written ({reason.strerror}): the next run needs a new sign-in."
            )

    def _has_folder(self) -> bool:
        """Make the folder if it is missing; return whether it can be used."""
        try:
            make_private_folder(self.folder)
            return self._is_ours_alone(self.folder)
        except OSError as reason:
            self._note(f"{self.folder} cannot be used ({reason.strerror}).")
            return False

    def _is_ours_alone(self, path: Path) -> bool:
        """Remove other users' access; return whether this user owns the path."""
        try:
            was_open = close_to_others(path)
        except NotOurs:
            self._note(f"{path} belongs to somebody else and is not used: remove it.")
            return False
        if was_open:
            self._note(f"{path} was open to others, and is now closed. Was a token taken from it?")
        return True

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            logger.warning("%s", text)
