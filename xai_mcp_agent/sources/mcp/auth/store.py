"""Where tokens are kept: a folder that only its owner can read, a file for each server's URL."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from ....core.sign_in import SignIn
from ....settings.models import ServerSettings
from .lock import file_lock
from .record import Record

logger = logging.getLogger(__name__)

_ONLY_OWNER_FOLDER = 0o700
_ONLY_OWNER_FILE = 0o600
_OTHERS = 0o077
# Nothing of ours is larger; a file that is cannot be one of ours.
_MAX_BYTES = 1_000_000


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
        async with file_lock(self._file(server).with_suffix(".lock")):
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
                self._replace(file, record.as_json())
        except OSError as reason:
            self._note(f"{file} cannot be written ({reason.strerror}): nobody stays signed in.")

    def _replace(self, file: Path, text: str) -> None:
        """First beside it, then in its place: it is never half-written."""
        handle, beside = tempfile.mkstemp(dir=self.folder, suffix=".new")  # only its owner's
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            os.replace(beside, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise

    def _has_folder(self) -> bool:
        """Whether there is a folder to use; it is made if there is none."""
        try:
            self.folder.mkdir(mode=_ONLY_OWNER_FOLDER, parents=True, exist_ok=True)
            return self._is_ours_alone(self.folder, _ONLY_OWNER_FOLDER)
        except OSError as reason:
            self._note(f"{self.folder} cannot be used ({reason.strerror}).")
            return False

    def _is_ours_alone(self, path: Path, mode: int = _ONLY_OWNER_FILE) -> bool:
        """Whether nobody else owns it; where others have access, that is taken from them."""
        found = path.stat()
        if os.name == "nt":
            return True  # there, a person's configuration folder is closed to others by itself
        if found.st_uid != os.geteuid():
            self._note(f"{path} belongs to somebody else and is not used: remove it.")
            return False
        if stat.S_IMODE(found.st_mode) & _OTHERS:
            path.chmod(mode)
            self._note(f"{path} was open to others, and is now closed. Was a token taken from it?")
        return True

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            logger.warning("%s", text)
