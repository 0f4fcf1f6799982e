"""A fault as a value: what a server does, and which steps are made with it.

The catalogue is made of these (`catalogue.py`); `driver.py` makes the steps. What comes of each is
recorded in tests/oracle/tables/faults.json.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.fault_server import entry
from xai_mcp_agent.settings.entry import START_TIMEOUT_SECONDS

Entry: TypeAlias = dict[str, Any]
Server: TypeAlias = Entry | Callable[[Path], AbstractContextManager[Entry]]
"""What the settings hold for it; or what starts it, given a folder of its own, and gives that."""

LONG_SECONDS = 120.0
"""What has to work gets this long: it bounds a hang, however busy the machine is."""
LATE_SECONDS = 0.5
"""The limit of a call that is not answered."""
SILENT_SECONDS = 5.0
"""The limit of a start that never ends, and so of the healthy one after it."""


@dataclass(frozen=True)
class Call:
    """One call of a tool, and its limit."""

    tool: str = "echo"
    arguments: dict[str, Any] = field(default_factory=lambda: {"text": "fine"})
    seconds: float = LONG_SECONDS


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong at a server.

    Steps: `connect` (start it and list its tools), `call`, `again` (the next call), close. Without
    `call` the fault shows while connecting; `last` is one more call, where `again` fails. `mend`
    is run before `again`: from then on the server can serve. One that `dies_after_call` is called
    `again` once that was noticed.
    """

    name: str
    does: str
    server: Server
    call: Call | None = Call()
    again: Call = Call()
    last: Call | None = None
    mend: Callable[[Path], None] | None = None
    dies_after_call: bool = False
    connect_seconds: float = START_TIMEOUT_SECONDS


def speaking(**options: Any) -> Entry:
    """The fault server; it writes this first, and errors about it must quote it."""
    return entry(**{"stderr": "the server says this on stderr\n", **options})
