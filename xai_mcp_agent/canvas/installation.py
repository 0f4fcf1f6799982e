"""Check that the component files that a workflow loaded belong to this engine.

Xircuits copies libraries when it initialises a folder, and a later `pip install -U` does not touch
that copy: old component files then meet a new engine. `xai-mcp-agent init` installs the current
files.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from ..core.shell import shell_command
from ..core.util import COMPONENTS, installed_components_folder, installed_version


def warn_of_stale_components() -> None:
    """Print once, for each stale copy of our nodes, what to do; the run goes on."""
    for name, module in sys.modules.copy().items():
        if name.startswith("xai_components.xai_mcp_agent.") and module.__file__:
            _warn_if_stale(module.__file__)


@cache  # a loaded module stays what it is
def _warn_if_stale(component_file: str) -> None:
    if line := why_stale(Path(component_file)):
        print(line, file=sys.stderr)


def why_stale(file: Path) -> str:
    """Return a line on what to do about a component file that is not the installed one, or ""."""
    if _is_installed(file):
        return ""
    return (
        f"{file} is not the file of the installed xai-mcp-agent {installed_version()}: "
        f"run `{_refresh_command(file)}`, then the workflow again in a new kernel."
    )


def _is_installed(file: Path) -> bool:
    original = installed_components_folder() / file.name
    try:
        return original.read_bytes() == file.read_bytes()
    except OSError:  # this version no longer has it, or it is unreadable: then assume the best
        return original.exists()


def _refresh_command(file: Path) -> str:
    folder = file.parents[2]
    # An editable install leaves copies among the packages, which is no working folder.
    if file.parents[1].name != COMPONENTS or (folder / "xircuits").is_dir():
        return "xai-mcp-agent init"
    return shell_command("xai-mcp-agent", "init", str(folder))
