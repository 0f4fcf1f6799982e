"""What goes wrong before a started server is ready."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.fault_server import entry
from xai_mcp_agent.core.errors import SourceFailed

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


STARTING = (
    Fault("none", "nothing wrong", speaking()),
    Fault(
        "exit_at_start",
        "ends at once with exit code 3",
        mendable(exit=3),
        connect=failed("it exited with code 3"),
        call=None,
        mend=mend,
    ),
)
