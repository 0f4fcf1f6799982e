"""The databases that a history may be kept in; the PostgreSQL is started by the tests themselves.

It runs in a folder of its own, on a port of its own, as somebody without rights where we are root,
and ends when the process of the tests ends, in whatever way.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import free_port, wait_until
from xai_mcp_agent import Settings
from xai_mcp_agent.history.place import Place, find_place

MEMORY, FILE, POSTGRESQL = "memory", "file", "postgresql"
NO_SERVER = "no PostgreSQL here (Debian: apt-get install postgresql)"

_START_SECONDS = 60.0  # the first start writes some forty megabytes
_USERS = ("postgres", "nobody")
_SWITCHES = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off",
    "shared_buffers=16MB", "max_connections=60", "listen_addresses=127.0.0.1",
)  # fmt: skip
# The shell ends the server with the signal that is its input, or when nobody holds the other end
# of its input any more: then at once, for what it would write to its disk nobody reads.
_UNTIL_INPUT_ENDS = '"$@" </dev/null & read -r signal; kill "-${signal:-QUIT}" $!; wait $!'


class Server:
    """A PostgreSQL that can be stopped and started again."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._data = folder / "data"
        self._port = free_port()
        self._folder = folder
        self._numbers = itertools.count(1)
        self._log = (folder / "log").open("ab")
        self._shell: subprocess.Popen[bytes] | None = None
        options = ("--auth=trust", "--username=tests", "--encoding=UTF8", "--locale=C", "--no-sync")
        self._run([programs / "initdb", "-D", self._data, *options])

    def start(self) -> None:
        """Start it, and wait until it answers."""
        switches = [word for switch in _SWITCHES for word in ("-c", switch)]
        command = [self._programs / "postgres", "-D", self._data, "-p", str(self._port), *switches]
        command += ["-k", self._folder]
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _UNTIL_INPUT_ENDS, "sh", *command],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._log, cwd=self._folder,
            **_user_options(),
        )  # fmt: skip
        wait_until(self._answers, f"PostgreSQL answers (see {self._folder})", _START_SECONDS)

    def stop(self) -> None:
        """End it, and all connections with it."""
        self._end(b"INT\n")

    def close(self) -> None:
        """Stop it for good."""
        self._end(b"")
        self._log.close()

    def _end(self, signal: bytes) -> None:
        if self._shell is not None:
            self._shell.communicate(signal, timeout=_START_SECONDS)
            self._shell = None

    def new_database(self) -> str:
        """Return the URL of an empty database: a schema, which is ten times as fast to create."""
        name = f"tests_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}?options=-csearch_path%3D{name}"

    def url(self, database: str = "postgres") -> str:
        """Return the URL of one of its databases."""
        return f"postgresql://tests@127.0.0.1:{self._port}/{database}"

    def execute(self, statement: str) -> None:
        """Execute a statement outside of the databases of tests."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True, connect_timeout=10) as connection:
            connection.execute(statement.encode())

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, command: Sequence[str | Path]) -> None:
        subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=self._log, cwd=self._folder, check=True,
            timeout=_START_SECONDS, **_user_options(),
        )  # fmt: skip


@contextmanager
def postgresql() -> Generator[Server | None]:
    """Yield a PostgreSQL for the length of the block; None where none is installed."""
    programs = _programs()
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="xai-postgresql-"))  # short: a socket lies in it
    if os.getuid() == 0:
        shutil.chown(folder, _user(), pwd.getpwnam(_user()).pw_gid)
    server = None
    try:
        server = Server(programs, folder)
        server.start()
        yield server
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


def place_of(name: str | Path, folder: Path) -> Place:
    """Return the place for a name that a person writes, in a project in this folder."""
    return find_place(Settings(str(folder / "mcp_settings.json"), {}, {}), name, {})


def _programs() -> Path | None:
    """Return the folder of the newest version's programs; Debian does not put them on the path."""
    programs = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(programs, key=lambda x: int(x.parent.parent.name), default=None)
    on_path = shutil.which("initdb")
    return newest.parent if newest else Path(on_path).parent if on_path else None


def _user_options() -> dict[str, object]:
    """Return options to run as another user: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    return {"user": _user(), "group": pwd.getpwnam(_user()).pw_gid, "extra_groups": []}


def _user() -> str:
    users = {x.pw_name for x in pwd.getpwall()}
    return next(name for name in _USERS if name in users)
