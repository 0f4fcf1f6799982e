"""Faults before a server is ready, and faults at its end."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tests.support.fault_server import entry

from .fault import SILENT_SECONDS, Entry, Fault, speaking

_MENDED = "mended"


def _mend(folder: Path) -> None:
    """Repair the server as a person would."""
    (folder / _MENDED).touch()


@contextmanager
def _not_installed(folder: Path) -> Generator[Entry]:
    """Yield a command that does not exist until `_install`."""
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
    """Return a server whose response to `initialize` lacks a field."""
    result = {x: y for x, y in _INITIALIZED.items() if x != name}
    return speaking(on={"initialize": [["reply", result]]})


def _failing(name: str, does: str, *steps: list[Any], **options: Any) -> Fault:
    """Return a fault that prevents the start until it is repaired; `steps` are its handshake."""
    options |= {"on": {"initialize": list(steps)}} if steps else {}
    return Fault(name, does, speaking(until=_MENDED, **options), call=None, mend=_mend)


def _saying(name: str, does: str, *first: list[Any]) -> Fault:
    """Return a fault with these steps before the response to the handshake."""
    return Fault(name, does, speaking(on={"initialize": [*first, ["usual"]]}))


def _silent_once(name: str, does: str, **options: Any) -> Fault:
    """Return a fault of the first start only: the server is silent, and healthy from then on."""
    healthy = {"hang": False, "on": {}}
    server = speaking(**options, then=healthy, journal="starts", startTimeout=SILENT_SECONDS)
    return Fault(name, does, server, call=None, connect_seconds=SILENT_SECONDS)


STARTING = (
    Fault("none", "nothing wrong", speaking()),
    _failing("exit_at_start", "ends at once with exit code 3", exit=3),
    Fault("bad_command", "its command does not exist", _not_installed, call=None, mend=_install),
    Fault("slow_start", "is silent for two seconds, then works", speaking(delay=2)),
    Fault("discover_ignored", "does not answer when it is asked for the newer protocol",
          speaking(on={"server/discover": []}, probeTimeout=0.5), connect_seconds=0.5),
    Fault("slower_than_the_probe",
          "speaks only the newer protocol, and answers after the limit for that question",
          speaking(era="modern", delay=1, probeTimeout=0.3)),
    Fault("discover_kills", "ends when it is asked for something it does not know",
          speaking(on={"server/discover": [["exit", 7]]})),
    Fault("banner_stdout", "greets people on its standard output",
          speaking(stdout="Starting up ...\n")),
    Fault("bom_crlf", "begins with a byte order mark and ends lines as Windows does",
          speaking(stdout="\ufeff", crlf=True)),
    _failing("version_unknown", "answers with a protocol version of 1999", version="1999-01-01"),
    _failing("init_error", "refuses the handshake", ["error", -32000, "licence expired"]),
    Fault("init_twice", "answers the handshake twice",
          speaking(on={"initialize": [["reply", _INITIALIZED], ["reply", _INITIALIZED]]})),
    _saying("notice_flood_before_answer", "sends 5,000 notices before it answers the handshake",
            ["times", 5_000, _NOTICE + "\n"]),
    _saying("request_before_answer", "asks the client something before it answers the handshake",
            ["line", '{"jsonrpc": "2.0", "id": "s1", "method": "roots/list"}']),
    Fault("capabilities_missing", "its handshake does not say what it can do",
          _without("capabilities")),
    Fault("server_info_missing", "its handshake does not say who it is", _without("serverInfo")),
    Fault("version_missing", "its handshake does not say which protocol it speaks",
          _without("protocolVersion")),
    _failing("init_null", "answers the handshake with null",
             ["line", '{"jsonrpc": "2.0", "id": ID, "result": null}']),
    _failing("half_handshake", "dies in the middle of its first answer",
             ["write", '{"jsonrpc": "2.0", "id": ID, "res'], ["exit", 9]),
    _failing("stdout_closed_at_start", "closes its standard output and lives on",
             ["close", 1], ["pause", 60]),
    _failing("stdin_closed_at_start", "closes its standard input and lives on",
             ["close", 0], ["pause", 60]),
    _failing("fork_and_exit", "leaves its work to a child and ends", child="heir", exit=0),
    Fault("flood_stderr", "writes 8 MB to stderr before it is ready",
          entry(on={"initialize": [["stderr", "x" * 999 + "\n", 8000], ["usual"]]})),
    _failing("stderr_endless_line", "writes 2 MB to stderr without ever ending the line, then dies",
             ["stderr", "x" * 1000, 2000], ["exit", 4]),
    _failing("stderr_binary", "writes bytes of no encoding to stderr, then dies",
             ["stderr", "\x00\xff\xfe\x1b[31m\x00\n"], ["exit", 4]),
    _failing("list_error", "refuses to list its tools",
             on={"tools/list": [["error", -32000, "cannot list: database locked"]]}),
    _failing("list_dies", "dies when it is asked for its tools",
             on={"tools/list": [["exit", 8]]}),
    _silent_once("hang_handshake", "starts and never answers", hang=True),
    _silent_once("list_hang", "does not answer when it is asked for its tools",
                 on={"tools/list": []}),
)  # fmt: skip

ENDING = (
    Fault("ignore_stdin_close", "goes on when its input ends, and ignores SIGTERM",
          speaking(ignore_eof=True, ignore_term=True)),
    Fault("slow_end", "needs a second to end", speaking(slow_end=1)),
    *(Fault(name, does, speaking(child=child)) for name, child, does in (
        ("orphan_child", "polite", "leaves a child behind when it ends"),
        ("deaf_child", "deaf", "leaves a child behind that ignores SIGTERM"),
        ("child_in_own_session", "apart", "has a child in a session of its own"),
        ("double_fork", "double", "leaves a child of a child behind"),
        ("heir", "heir", "its child holds its standard output"),
    )),
)  # fmt: skip
