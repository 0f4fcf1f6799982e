"""Quotes commands for a shell."""

from __future__ import annotations

import os
import shlex
import subprocess


def shown_command(*words: str, windows: bool = os.name == "nt") -> str:
    """Join a command so that it can be pasted into the shell of this machine."""
    return subprocess.list2cmdline(words) if windows else shlex.join(words)
