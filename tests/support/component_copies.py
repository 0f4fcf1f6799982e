"""The copies of our component files that an editable install leaves where Xircuits looks."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from xai_mcp_agent.core.util import COMPONENT_FILES, LIBRARY, installed_components_folder


def refresh_component_copies() -> None:
    """Bring the copies up to date: compiled workflows import them, and a node may have changed."""
    spec = importlib.util.find_spec("xai_components")
    ours = installed_components_folder()
    copies = Path(spec.origin).parent / LIBRARY if spec and spec.origin else ours
    if copies == ours or not copies.is_dir():
        return
    fresh = {x.name: x.read_bytes() for x in ours.glob(COMPONENT_FILES)}
    for copy in copies.glob(COMPONENT_FILES):
        if fresh.get(copy.name) != copy.read_bytes():
            copy.unlink()  # not written over: it may be a link into an installer's cache
    for name in fresh:
        if not (copies / name).exists():
            shutil.copy(ours / name, copies)
