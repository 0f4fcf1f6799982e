"""Servers behind a URL for the catalogue: in both protocol eras, mended by forgetting the fault."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import fault_http
from tests.support.fault_http import FaultHttp

from .fault import Entry, Fails, Server
from .fault import Fault as FaultOfServer

Setup = Callable[[FaultHttp], Any]

TOKEN = "tok-0123456789abcdef"
TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}},
    {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
# Those of this process, by the folder of their fault: `mend` gets no more than that.
_RUNNING: dict[Path, FaultHttp] = {}


def behind_a_url(setup: Setup, *, era: str = "modern", sse: bool = False, **entry: Any) -> Server:
    """A server to which `setup` does something before it is used."""

    @contextmanager
    def serve(folder: Path) -> Generator[Entry]:
        with fault_http.fault_http(era=era, sessions=era == "legacy", tools=[*TOOLS]) as peer:
            _RUNNING[folder] = peer
            setup(peer)
            yield {**peer.entry(**entry), **({"url": peer.sse_url} if sse else {})}

    return serve


def of_calls(fault: fault_http.Fault) -> Setup:
    """The fault shows in calls."""
    return lambda peer: peer.faults.update({"tools/call": fault})


def of_all(fault: fault_http.Fault) -> Setup:
    """The fault shows in everything."""
    return lambda peer: peer.faults.update({"*": fault, "GET": fault})


def mend(folder: Path) -> None:
    """From now on it answers well; started again if it was stopped."""
    peer = _RUNNING[folder]
    peer.faults.clear()
    peer.start()


def fails(words: str, **more: Any) -> Fails:
    """An error without last words: nobody sees the stderr of a server behind a URL."""
    return Fails(words, speaks=False, **more)


def in_both_eras(
    name: str, does: str, setup: Setup, entry: Entry | None = None, **more: Any
) -> tuple[FaultOfServer, FaultOfServer]:
    """The same fault in the newer era and in that of the handshake."""
    entry = entry or {}
    older = behind_a_url(setup, era="legacy", **entry)
    return (
        FaultOfServer(name, does, behind_a_url(setup, **entry), **more),
        FaultOfServer(f"{name}_older", f"{does} (older protocol)", older, **more),
    )
