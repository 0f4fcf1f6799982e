"""Quoting of commands for a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence


def shell_command(*words: str, windows: bool = os.name == "nt") -> str:
    """Join a command so that it can be pasted into the shell of this machine."""
    return subprocess.list2cmdline(words) if windows else shlex.join(words)


def tool_command(verb: str, server: str, *tools: str, options: Sequence[str] = ()) -> str:
    """Return a `tools` command about a server's tools, with names that may look like options."""
    names = (server, *tools)
    if any(x.startswith("-") for x in names):
        return shell_command("xai-mcp-agent", "tools", verb, *options, "--", *names)
    return shell_command("xai-mcp-agent", "tools", verb, *names, *options)
