"""A fault as a value: the behaviour of a server, and the steps of its run.

`catalogue.py` has all faults, and `driver.py` runs the steps. Their outcomes are recorded in
tests/oracle/tables/faults.json.
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
"""A server's settings, or a function that starts it in its own folder and yields its settings."""

LONG_SECONDS = 120.0
"""Limit of a step that must succeed: it bounds a hang, however busy the machine is."""
LATE_SECONDS = 0.5
"""Limit of a call that is not answered."""
SILENT_SECONDS = 5.0
"""Limit of a start that never ends, and so of the healthy one after it."""


@dataclass(frozen=True)
class Call:
    """One call of a tool, and its limit."""

    tool: str = "echo"
    arguments: dict[str, Any] = field(default_factory=lambda: {"text": "fine"})
    seconds: float = LONG_SECONDS


@dataclass(frozen=True)
class Fault:
    """One fault of a server.

    Steps: `connect` (start it and list its tools), `call`, `again` (the next call), close. Without
    `call` the fault shows while connecting; `last` is one more call, if `again` fails. `mend` is
    called before `again` and repairs the server. If the server `dies_after_call`, `again` follows
    once its end was noticed.
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
    """Return a fault server that first writes to stderr; errors about it must quote that."""
    return entry(**{"stderr": "the server says this on stderr\n", **options})
