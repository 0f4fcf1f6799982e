"""Where the component files of this engine are."""

from __future__ import annotations

from pathlib import Path

LIBRARY = "xai_mcp_agent"
COMPONENTS = "xai_components"
COMPONENT_FILES = "*_components.py"

_ENGINE_FOLDER = Path(__file__).resolve().parents[1]


def installed_components_folder() -> Path:
    """Return the folder with the component files that belong to this engine.

    In a checkout they lie beside the inner packages. A wheel puts them where
    Xircuits looks for libraries, in `xai_components` beside the engine.
    """
    if any(_ENGINE_FOLDER.glob(COMPONENT_FILES)):
        return _ENGINE_FOLDER
    return _ENGINE_FOLDER.parent / COMPONENTS / LIBRARY
