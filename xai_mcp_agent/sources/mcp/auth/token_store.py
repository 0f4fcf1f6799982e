"""Token store: a folder that only its owner can read, a record and a lock for each server's URL."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread

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
# Nothing of ours is larger; a file that is cannot be one of ours.
_MAX_BYTES = 1_000_000
_LOOK_SECONDS = 0.05  # at the lock of a file


@dataclass(frozen=True, repr=False)
class Record:
    """The access to the server at `url` that `issuer` gave, in the shapes that OAuth gives them.

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
        if not self.access_token:
            return False
        if self.expires_at is None:
            return True
        life = (self.tokens or {}).get("expires_in") or 0
        early = min(_EARLY_SECONDS, life * _EARLY_SHARE) if self.can_be_renewed else 0.0
        return time.time() < self.expires_at - early

    def secrets(self) -> Iterator[str]:
        """The texts in it that nobody may see."""
        tokens, client = self.tokens or {}, self.client or {}
        for text in (
            tokens.get("access_token"),
            tokens.get("refresh_token"),
            client.get("client_secret"),
        ):
            if isinstance(text, str):
                yield text

    def as_json(self) -> str:
        """For a file."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def of_json(cls, text: str, url: str) -> Record | None:
        """What a file holds, if it can be used and is about this URL."""
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        inside = cast(dict[str, Any], found)
        known: dict[str, Any] = {x.name: inside.get(x.name) for x in fields(cls)}
        return cls(**known) if known["url"] == url and _is_sound(known) else None

    def __repr__(self) -> str:
        has = "a token" if self.tokens else "no token"
        return f"<Record of {self.url}: {has}, issuer {self.issuer or 'unknown'}>"


def _is_sound(known: dict[str, Any]) -> bool:
    parts = [known[x] for x in ("tokens", "client", "service", "resource")]
    tokens = known["tokens"] or {"access_token": ""}
    return (
        all(x is None or isinstance(x, dict) for x in parts)
        and isinstance(known["issuer"], str)
        and isinstance(known["expires_at"], int | float | None)
        and isinstance(tokens.get("access_token"), str)
        and isinstance(tokens.get("expires_in"), int | float | None)
    )


@dataclass(frozen=True)
class Access:
    """What all servers of a bridge share: where tokens are kept, and how somebody signs in.

    `sign_in` is None where nobody is there. `is_forced`: sign in also where it is not demanded.
    """

    store: TokenStore
    sign_in: SignIn | None = None
    is_forced: bool = False


def can_be_signed_in_to(server: ServerSettings) -> bool:
    """Whether its settings leave room for it."""
    return server.transport != "stdio" and server.auth.use != "no"


class TokenStore:
    """The tokens in one folder. `notes` say what was wrong with it and what was done about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[str] = []

    async def read(self, server: ServerSettings) -> Record:
        """What is kept about this server; an empty record if nothing is, or nothing of use."""
        return await anyio.to_thread.run_sync(self.read_now, server)

    async def write(self, server: ServerSettings, record: Record) -> None:
        """Keep this from now on. Not given up half-way: what it replaces may be void by now.

        Where nothing can be written, that is noted: the token still serves for this run.
        """
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._write, self._file(server), record)

    @asynccontextmanager
    async def locked(self, server: ServerSettings) -> AsyncGenerator[None]:
        """Nobody else who uses this folder renews or gets a token for this server meanwhile."""
        await anyio.to_thread.run_sync(self._has_folder)
        async with _file_lock(self._file(server).with_suffix(".lock")):
            yield

    def read_now(self, server: ServerSettings) -> Record:
        """As `read`, for callers that may wait."""
        nothing = Record(server.url)
        file = self._file(server)
        try:
            if not self._is_ours_alone(file):
                return nothing
            with file.open("rb") as opened:
                text = opened.read(_MAX_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return nothing
        except OSError as reason:
            self._note(f"{file} cannot be read ({reason.strerror}): sign in again.")
            return nothing
        record = Record.of_json(text, server.url)
        if record is None:
            self._note(f"{file} was not understood: sign in again.")
        return record or nothing

    async def where_signed_in(self, servers: Iterable[ServerSettings]) -> dict[str, str]:
        """The service that somebody has signed in at, for each server that there is a token for."""
        asked = [x for x in servers if can_be_signed_in_to(x)]

        def look() -> dict[str, str]:
            records = {x.name: self.read_now(x) for x in asked}
            return {name: x.issuer or x.url for name, x in records.items() if x.access_token}

        return await anyio.to_thread.run_sync(look) if asked else {}

    def forget(self, server: ServerSettings) -> bool:
        """Keep nothing about this server any more; whether there was a token."""
        had_token = bool(self.read_now(server).access_token)
        self._file(server).unlink(missing_ok=True)
        return had_token

    def _file(self, server: ServerSettings) -> Path:
        """By the URL, and by who we are to it: another client has other tokens."""
        auth = server.auth
        identity = "\n".join((server.url, auth.grant, auth.client_id, auth.client_metadata_url))
        return self.folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"

    def _write(self, file: Path, record: Record) -> None:
        try:
            if self._has_folder():
                replace_private(file, record.as_json().encode())
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
        """Whether nobody else owns it; where others have access, that is taken from them."""
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


@asynccontextmanager
async def _file_lock(path: Path) -> AsyncGenerator[None]:
    """Hold the lock of this file, which is made, within the block; waits for as long as it takes.

    Where files cannot be locked (some network drives) it goes on without.
    """
    file = open_lock(path)
    try:
        while file is not None and not take_lock(file):  # noqa: ASYNC110 - nobody tells us
            await anyio.sleep(_LOOK_SECONDS)
        yield
    finally:
        if file is not None:
            close_lock(file)
