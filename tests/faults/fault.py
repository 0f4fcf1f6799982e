"""A fault as a value: what a server does, and what the bridge's caller may expect of each step.

The catalogue is made of these (`catalogue.py`); `driver.py` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from xai_mcp_agent import SourceError, XaiMcpError
from xai_mcp_agent.settings.entry import START_TIMEOUT_SECONDS

Entry: TypeAlias = dict[str, Any]
Server: TypeAlias = Entry | Callable[[Path], AbstractContextManager[Entry]]
"""What the settings hold for it; or what starts it, given a folder of its own, and gives that."""

LAST_WORDS = "the server says this on stderr"
"""Every server of ours that is started writes this first; errors about it must quote it."""


LONG_SECONDS = 120.0
"""What has to work gets this long: it bounds a hang, however busy the machine is."""


@dataclass(frozen=True)
class Works:
    """The step does what it should; the result's text and notes match these patterns."""

    text: str = ""
    notes: str = ""


@dataclass(frozen=True)
class Fails:
    """The step ends in this error of ours, whose words match the pattern.

    `speaks`: the server's last words on stderr are part of it.
    """

    words: str
    kind: type[XaiMcpError] = SourceError
    speaks: bool = True


Expected: TypeAlias = Works | Fails


@dataclass(frozen=True)
class Call:
    """One call of a tool, its limit, and what comes of it."""

    tool: str = "echo"
    arguments: dict[str, Any] = field(default_factory=lambda: {"text": "fine"})
    expected: Expected = Works()
    seconds: float = LONG_SECONDS


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong at a server.

    Steps: `connect` (start it and list its tools), `call`, `again` (the next call), close. Without
    `call` the fault shows while connecting; `last` is one more call, where `again` fails. `mend`
    is run before `again`: from then on the server can serve. One that `dies_after_call` is called
    `again` once that was noticed. `status_notes` is a pattern for what people read in the status.
    """

    name: str
    does: str
    server: Server
    connect: Expected = Works()
    connect_seconds: float = START_TIMEOUT_SECONDS
    call: Call | None = Call()
    again: Call = Call()
    last: Call | None = None
    mend: Callable[[Path], None] | None = None
    dies_after_call: bool = False
    status_notes: str = ""
