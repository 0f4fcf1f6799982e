"""What goes wrong before a started server is ready."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tests.support.fault_server import entry
from xai_mcp_agent import SourceFailed

from .fault import LAST_WORDS, Entry, Fails, Fault

_MENDED = "mended"


def speaking(**options: Any) -> Entry:
    """The fault server, which says its last words on stderr first."""
    return entry(**{"stderr": f"{LAST_WORDS}\n", **options})


def mendable(**options: Any) -> Entry:
    """The same until `mend` is done, from then on healthy when it is started."""
    return speaking(until=_MENDED, **options)


def mend(folder: Path) -> None:
    """What a person does about it."""
    (folder / _MENDED).touch()


def failed(words: str, **more: Any) -> Fails:
    """It could not be started."""
    return Fails(words, SourceFailed, **more)


@contextmanager
def _not_installed(folder: Path) -> Generator[Entry]:
    """A command that does not exist until `_install`."""
    yield {"command": str(folder / "server")}


def _install(folder: Path) -> None:
    command, file = folder / "server", folder / "server.tmp"
    server = entry()
    line = shlex.join([str(server["command"]), *cast(list[str], server["args"])])
    file.write_text(f"#!/bin/sh\nexec {line}\n", encoding="utf-8")
    file.chmod(0o755)
    file.rename(command)


_NOTICE = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'
_INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "fault", "version": "1"},
}


def _without(name: str) -> Entry:
    """Its answer to initialize lacks this."""
    result = {x: y for x, y in _INITIALIZED.items() if x != name}
    return speaking(on={"initialize": [["reply", result]]})


def _failing(name: str, does: str, words: str, *steps: list[Any], **options: Any) -> Fault:
    """It does not start, with these words, until it is mended; `steps` are its handshake."""
    server = mendable(**options, **({"on": {"initialize": list(steps)}} if steps else {}))
    return Fault(name, does, server, connect=failed(words), call=None, mend=mend)


def _saying(name: str, does: str, *first: list[Any]) -> Fault:
    """It says this before it answers the handshake."""
    return Fault(name, does, speaking(on={"initialize": [*first, ["usual"]]}))


STARTING = (
    Fault("none", "nothing wrong", speaking()),
    _failing("exit_at_start", "ends at once with exit code 3", "it exited with code 3", exit=3),
    Fault("bad_command", "its command does not exist", _not_installed,
          connect=failed("was not found", speaks=False), call=None, mend=_install),
    Fault("slow_start", "is silent for two seconds, then works", speaking(delay=2)),
    Fault("discover_ignored", "does not answer when it is asked for the newer protocol",
          speaking(discover="mute", probeTimeout=0.5), connect_seconds=0.5),
    Fault("slower_than_the_probe",
          "speaks only the newer protocol, and answers after the limit for that question",
          speaking(era="modern", delay=1, probeTimeout=0.3)),
    Fault("discover_kills", "ends when it is asked for something it does not know",
          speaking(discover="die")),
    Fault("banner_stdout", "greets people on its standard output", speaking(banner=True)),
    Fault("bom_crlf", "begins with a byte order mark and ends lines as Windows does",
          speaking(bom=True, crlf=True)),
    _failing("version_unknown", "answers with a protocol version of 1999",
             "Unsupported protocol version from the server: 1999-01-01", version="1999-01-01"),
    _failing("init_error", "refuses the handshake: licence expired", "licence expired",
             init_error="licence expired"),
    Fault("init_twice", "answers the handshake twice",
          speaking(on={"initialize": [["reply", _INITIALIZED], ["reply", _INITIALIZED]]})),
    _saying("notice_before_answer", "sends a notice before it answers the handshake",
            ["line", _NOTICE]),
    _saying("notice_flood_before_answer", "sends 20,000 notices before it answers the handshake",
            ["times", 20_000, _NOTICE + "\n"]),
    _saying("request_before_answer", "asks the client something before it answers the handshake",
            ["line", '{"jsonrpc": "2.0", "id": "s1", "method": "roots/list"}']),
    Fault("capabilities_missing", "its handshake does not say what it can do",
          _without("capabilities")),
    Fault("server_info_missing", "its handshake does not say who it is", _without("serverInfo")),
    Fault("version_missing", "its handshake does not say which protocol it speaks",
          _without("protocolVersion")),
    _failing("init_null", "answers the handshake with null", "it is not a valid message",
             ["line", '{"jsonrpc": "2.0", "id": ID, "result": null}']),
    _failing("half_handshake", "dies in the middle of its first answer", "it exited with code 9",
             ["write", '{"jsonrpc": "2.0", "id": ID, "res'], ["exit", 9]),
    _failing("stdout_closed_at_start", "closes its standard output and lives on",
             "it closed its standard output", ["close", 1], ["pause", 60]),
    _failing("stdin_closed_at_start", "closes its standard input and lives on",
             "it closed its standard input", ["close", 0], ["pause", 60]),
    _failing("fork_and_exit", "leaves its work to a child and ends", "it exited with code 0",
             child="heir", exit=0),
    Fault("flood_stderr", "writes 8 MB to stderr before it is ready", entry(stderr_mb=8)),
    _failing("stderr_endless_line", "writes 2 MB to stderr without ever ending the line, then dies",
             "it exited with code 4", ["stderr", "x" * 1000, 2000], ["exit", 4]),
    _failing("stderr_binary", "writes bytes of no encoding to stderr, then dies",
             "it exited with code 4", ["stderr", "\x00\xff\xfe\x1b[31m\x00\n"], ["exit", 4]),
    _failing("list_error", "refuses to list its tools", "cannot list: database locked",
             list="error"),
    _failing("list_dies", "dies when it is asked for its tools",
             "while listing its tools: it exited with code 8", list="die"),
)  # fmt: skip

SILENT_SECONDS = 10.0
"""The limit of a start that never ends, and so of the healthy one after it."""


def _silent_once(**options: Any) -> Entry:
    """Silent when it is started first, healthy from then on: nothing has to happen in between."""
    healthy = dict.fromkeys(options, "")
    return speaking(**options, then=healthy, journal="starts", startTimeout=SILENT_SECONDS)


SILENT = (
    Fault("hang_handshake", "starts and never answers", _silent_once(hang=True), call=None,
          connect=failed("after 10 s, while shaking hands"), connect_seconds=SILENT_SECONDS),
    Fault("list_hang", "does not answer when it is asked for its tools", _silent_once(list="hang"),
          connect=failed("after 10 s, while listing its tools"), connect_seconds=SILENT_SECONDS,
          call=None),
)  # fmt: skip
