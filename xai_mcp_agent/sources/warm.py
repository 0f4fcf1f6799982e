"""The process that keeps the servers of a settings file, as its clients see it.

There is one for each user, settings file, version and current content of the settings: another
token in a variable means another process. It has a folder with its sockets and runs
`gateway.process`. With `XAI_MCP_WARM=1` a bridge reaches its stdio servers there instead of
starting them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..core.util import installed_version
from ..secrets.private_files import make_private_folder, open_private
from ..settings.digest import digest_of, user_key
from ..settings.entry import SourceSettings
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.server import ServerSettings
from ..settings.trust import without_untrusted
from . import relay

WARM_VARIABLE = "XAI_MCP_WARM"
START_SECONDS = 20.0  # importing takes several seconds on a machine under load

_ON = ("1", "true", "yes", "on")
_MOST_PATH_BYTES = 100  # limit of a socket path: 104 on macOS, 108 on Linux
_ANSWER_SECONDS = 10.0
_POLL_SECONDS = 0.05
_LOG_END_BYTES = 2000
_RUN = "from xai_mcp_agent.cli.main import run; run()"


class WarmProcessFailed(XaiMcpError):
    """No process keeps servers, and none can be started; says why."""


@dataclass(frozen=True)
class WarmPlace:
    """The folder of one process. `digest` covers the current content of the settings."""

    settings: str
    digest: str
    folder: Path

    @property
    def socket(self) -> Path:
        """The socket for MCP, in JSON lines as over stdio."""
        return self.folder / "mcp.sock"

    @property
    def admin_socket(self) -> Path:
        """The socket for HTTP, for pages and scripts that administer it."""
        return self.folder / "admin.sock"

    @property
    def lock(self) -> Path:
        """A file that is locked while the process lives, with facts about it."""
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        """The stderr of a process in the background."""
        return self.folder / "log"

    @cached_property
    def relay(self) -> tuple[str, ...]:
        """The command that attaches a stdio client."""
        return (sys.executable, "-IS", relay.__file__, str(self.socket))


def place_of(file: str | Path | None) -> WarmPlace:
    """Return the place for a settings file with its current content and environment.

    Raises:
        SettingsError: the file cannot be read.
        WarmProcessFailed: there is no file, or this system does not support it.
    """
    if os.name == "nt":
        raise WarmProcessFailed(
            "There are no sockets of this kind on Windows. Use `xai-mcp-agent serve --stdio`, "
            "which each client starts for itself."
        )
    settings = without_untrusted(load_settings(file))
    if not settings.file:
        raise WarmProcessFailed("No mcp_settings.json was found. Name yours with --settings.")
    path = os.path.realpath(settings.file)
    try:
        key = user_key()
    except OSError as cause:
        raise WarmProcessFailed(f"The key of this user cannot be used: {cause}.") from cause
    # Without the way the file was found, and without what a run may add.
    same = replace(settings, file=path, searched=(), is_vouched=False, added=set())
    digest = digest_of((path, installed_version(), same), key)
    folder = _runtime_folder() / digest[:16]
    place = WarmPlace(settings.file, digest, folder)
    if len(os.fsencode(place.admin_socket)) > _MOST_PATH_BYTES:
        raise WarmProcessFailed(
            f"{folder} is too long for the path of a socket. Set XDG_RUNTIME_DIR to a shorter one."
        )
    return place


def facts_of(place: WarmPlace) -> JsonObject:
    """Return the facts that a process writes about itself at its start."""
    return {
        "pid": os.getpid(),
        "settings": os.path.realpath(place.settings),
        "version": installed_version(),
    }


def live_places(file: str | Path) -> Iterator[tuple[WarmPlace, JsonObject]]:
    """Yield the places of a settings file's live processes, with their facts.

    The file may have had any content, and need not be readable now.
    """
    path = os.path.realpath(file)
    for lock in sorted(_runtime_folder().glob("*/lock")):
        place = WarmPlace(str(file), "", lock.parent)
        try:
            facts: Any = json.loads(lock.read_bytes())
            relay.connect(str(place.socket)).close()
        except (OSError, ValueError):
            continue  # it has ended, or is just starting
        if isinstance(facts, dict) and cast(JsonObject, facts).get("settings") == path:
            yield place, cast(JsonObject, facts)


def ask(place: WarmPlace, **question: object) -> JsonObject:
    """Ask a process a question and return its answer; see `gateway.process` for both.

    Raises:
        OSError: the process is not there, or does not answer.
    """
    with relay.connect(str(place.socket)) as connection:
        connection.settimeout(_ANSWER_SECONDS)
        try:
            answer: Any = json.loads(relay.answer_to(connection, json.dumps(question)))
        except ValueError as cause:
            raise ConnectionError("it hung up") from cause
        return cast(JsonObject, answer)


def is_live(place: WarmPlace) -> bool:
    """Return whether a process listens at this place."""
    try:
        relay.connect(str(place.socket)).close()
    except OSError:
        return False
    return True


def start(place: WarmPlace, options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start the process in the background, in a session of its own, without waiting for it.

    If several start at the same time, one stays.

    Raises:
        WarmProcessFailed: its folder cannot be used.
        OSError: it cannot be started.
    """
    make_private_folder(place.folder)
    log = open_private(place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC)
    command = [sys.executable, "-c", _RUN, "serve", "--socket", "--settings", place.settings]
    try:
        process = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=os.path.dirname(place.settings), start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)
    # Reaps the process if it ends before us.
    threading.Thread(target=process.wait, name="xai-mcp-warm", daemon=True).start()
    return process


def ensure(place: WarmPlace, options: Sequence[str] = ()) -> None:
    """Start the process if there is none, and wait until it can be reached.

    Raises:
        WarmProcessFailed: it cannot be started; the message has the end of its log.
    """
    if is_live(place):
        return
    problem = f"The process that keeps the servers of {place.settings} did not start"
    try:
        process = start(place, options)
    except OSError as cause:
        raise WarmProcessFailed(f"{problem}: {cause}") from cause
    until = time.monotonic() + START_SECONDS
    while not is_live(place):
        # A process that finds another one running exits with 0.
        if process.poll() or time.monotonic() > until:
            raise WarmProcessFailed(f"{problem}. The end of {place.log}:\n{_end_of_log(place)}")
        time.sleep(_POLL_SECONDS)


class WarmRoute:
    """A bridge's route to its stdio servers if another process keeps them at `place`.

    `warn` gets the reason when they cannot be reached there.
    """

    def __init__(self, settings: Settings, warn: Callable[[str], None]) -> None:
        self._added = settings.added
        self._warn = warn
        self._started: subprocess.Popen[bytes] | None = None  # once for several servers
        self.place: WarmPlace | None = None
        is_on = os.environ.get(WARM_VARIABLE, "").strip().lower() in _ON
        if is_on and settings.file and not settings.is_from_python:
            try:
                self.place = place_of(settings.file)
            except XaiMcpError as reason:
                self._give_up(reason)

    def __call__(self, source: SourceSettings) -> SourceSettings:
        """Return the settings by which the bridge reaches a source.

        A server with a URL already runs elsewhere, and other runs do not know servers that this run
        adds. A server that is not kept between runs has state that must not be shared either.
        """
        is_shared = (
            isinstance(source, ServerSettings)
            and source.transport == "stdio"
            and source.keep_warm_seconds != 0
            and source.name not in self._added
        )
        if self.place is None or not is_shared:
            return source
        try:
            is_starting = self._started is not None and self._started.poll() is None
            if not is_starting and not is_live(self.place):
                self._started = start(self.place)
        except OSError as reason:
            self._give_up(reason)
            return source
        until, first = time.time() + START_SECONDS, json.dumps({"server": source.name})
        return replace(source, through=(*self.place.relay, f"{until:.0f}", first))

    def _give_up(self, reason: Exception) -> None:
        self.place = None
        self._warn(f"{WARM_VARIABLE} has no effect, and servers are started for this run: {reason}")


def _end_of_log(place: WarmPlace) -> str:
    try:
        return place.log.read_bytes()[-_LOG_END_BYTES:].decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _runtime_folder() -> Path:
    from platformdirs import user_runtime_path

    with warnings.catch_warnings():  # a warning that the variable is not set: /tmp will do
        warnings.simplefilter("ignore")
        return user_runtime_path("xai-mcp-agent", appauthor=False)
