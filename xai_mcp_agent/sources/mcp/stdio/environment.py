"""What a server inherits of our environment: what programs need to run, and no keys.

The list is the SDK's; a test compares them. It is not taken from there, because a server is
started while the SDK is still being imported.
"""

from __future__ import annotations

import os
import sys

_ON_WINDOWS = (
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE SYSTEMDRIVE "
    "SYSTEMROOT TEMP USERNAME USERPROFILE"
)
_ELSEWHERE = "HOME LOGNAME PATH SHELL TERM USER"
INHERITED = tuple((_ON_WINDOWS if sys.platform == "win32" else _ELSEWHERE).split())


def inherited_environment() -> dict[str, str]:
    """The variables that a server gets besides those its settings list."""
    found = {name: os.environ.get(name) for name in INHERITED}
    # A function of a shell, which an old one would run.
    return {k: v for k, v in found.items() if v is not None and not v.startswith("()")}
