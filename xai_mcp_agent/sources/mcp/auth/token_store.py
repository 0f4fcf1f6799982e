"""Token store: a folder that only its owner can read, a record and a lock for each server's URL."""

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

# A token is renewed this long before it ends, or a tenth of its life if that is shorter: a request
# takes its time, and clocks differ.
_EARLY_SECONDS = 30.0
_EARLY_SHARE = 0.1
_LOOK_SECONDS = 0.05  # at the lock of a file


@dataclass(frozen=True, repr=False)
class Record:
    """Access to the server at `url`, given by `issuer`, in the shapes of OAuth.

    `expires_at` is in seconds since 1970. `client` is who we are to the issuer, `service` what it
    says of itself, `resource` what the server says of itself. Printing it shows no secret.
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
        """The token that goes with requests; empty if there is none."""
        return str((self.tokens or {}).get("access_token") or "")

    @property
    def can_be_renewed(self) -> bool:
        """Whether a new token can be had without a person: where to ask must be known, too."""
        return bool((self.tokens or {}).get("refresh_token") and self.client and self.service)

    def is_fresh(self) -> bool:
        """Whether there is a token that has not ended yet, as far as is known."""
        if self.expires_at is None or not self.access_token:
            return bool(self.access_token)
        life = (self.tokens or {}).get("expires_in") or 0
        early = min(_EARLY_SECONDS, life * _EARLY_SHARE) if self.can_be_renewed else 0.0
        return time.time() < self.expires_at - early

    def secrets(self) -> Iterator[str]:
        """The secrets in it."""
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
    """What all servers of a bridge share: the token store, and how somebody signs in.

    `sign_in` is None without a person. `is_forced`: sign in also if the server does not ask for it.
    """

    store: TokenStore
    sign_in: SignIn | None = None
    is_forced: bool = False


def can_be_signed_in_to(server: ServerSettings) -> bool:
    """Whether its settings leave room for it."""
    return server.transport != "stdio" and server.auth.use != "no"


class TokenStore:
    """Tokens in one folder. `notes` are about the folder, for people."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[str] = []

    async def read(self, server: ServerSettings) -> Record:
        """Return the record of a server; an empty one if nothing useful is stored."""
        return await anyio.to_thread.run_sync(self._read, server)

    async def write(self, server: ServerSettings, record: Record) -> None:
        """Store a record. It is not cancelled half-way: the record before may be void by now.

        If nothing can be written, that is noted, and the token still serves for this run.
        """
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._write, self._file(server), record)

    @asynccontextmanager
    async def locked(self, server: ServerSettings) -> AsyncGenerator[None]:
        """Hold the lock of a server: of all processes, one gets a token at a time.

        Where files cannot be locked (some network drives) it goes on without.
        """
        await anyio.to_thread.run_sync(self._has_folder)
        file = open_lock(self._file(server).with_suffix(".lock"))
        try:
            while file is not None and not take_lock(file):  # noqa: ASYNC110 - files have no event
                await anyio.sleep(_LOOK_SECONDS)
            yield
        finally:
            if file is not None:
                close_lock(file)

    async def where_signed_in(self, servers: Iterable[ServerSettings]) -> dict[str, str]:
        """Return the service that issued the token, for each server with one."""
        records = {x.name: await self.read(x) for x in servers if can_be_signed_in_to(x)}
        return {name: x.issuer or x.url for name, x in records.items() if x.access_token}

    def forget(self, server: ServerSettings) -> bool:
        """Delete what is stored about a server; return whether there was a token."""
        had_token = bool(self._read(server).access_token)
        self._file(server).unlink(missing_ok=True)
        return had_token

    def _file(self, server: ServerSettings) -> Path:
        """By the URL, and by who we are to it: another client has other tokens."""
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
            self._note(f"{file} cannot be written ({reason.strerror}): nobody stays signed in.")

    def _has_folder(self) -> bool:
        """Whether there is a folder to use; it is made if there is none."""
        try:
            make_private_folder(self.folder)
            return self._is_ours_alone(self.folder)
        except OSError as reason:
            self._note(f"{self.folder} cannot be used ({reason.strerror}).")
            return False

    def _is_ours_alone(self, path: Path) -> bool:
        """Whether this user owns the path. Takes access from others."""
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
