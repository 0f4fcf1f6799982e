"""Tells whether a component file is the one that belongs to this engine.

Xircuits copies libraries when it initialises a folder, and a later `pip install -U`
does not touch that copy: old component files then meet a new engine. The nodes ask
here, once for each file and process; `xai-mcp-agent init` asks for the installed files.
"""

from __future__ import annotations

from pathlib import Path

from ..core.shell import shown_command
from ..core.util import COMPONENTS, installed_components_folder, installed_version

_checked: set[str] = set()


def warn_if_stale(component_file: str) -> str | None:
    """Return one line for the screen when `component_file` is not the installed one, else None.

    Pass the `__file__` of the component's module. A file is judged once in a
    process, at its first use: a loaded module stays what it is, and the person
    needs to read it once.
    """
    if component_file in _checked:
        return None
    _checked.add(component_file)
    file = Path(component_file)
    if _is_installed(file):
        return None
    return (
        f"{file} is not the file of the installed xai-mcp-agent {installed_version()}: "
        f"run `{_refresh_command(file)}`, then the workflow again in a new kernel."
    )


def _is_installed(file: Path) -> bool:
    installed = installed_components_folder() / file.name
    try:
        if not installed.exists():
            return False  # a component file that this version no longer has
        return installed.samefile(file) or installed.read_bytes() == file.read_bytes()
    except OSError:
        return True  # unreadable: nothing is known against it, and the workflow can go on


def _is_where_packages_are(file: Path) -> bool:
    """And not in a working folder."""
    return len(file.parents) > 2 and (file.parents[2] / "xircuits").is_dir()


def _refresh_command(file: Path) -> str:
    if len(file.parents) < 3 or file.parents[1].name != COMPONENTS:
        return "xai-mcp-agent init"
    if _is_where_packages_are(file):
        return "xai-mcp-agent init"
    return shown_command("xai-mcp-agent", "init", str(file.parents[2]))
