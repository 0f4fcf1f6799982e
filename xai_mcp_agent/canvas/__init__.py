"""Engine of the nodes: a file per kind of node, and the state of one workflow run.

The nodes look the files up by name, and each is imported on first use: Xircuits imports every
component file of a workflow, and that should cost nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from ..core.imports import import_aside
from .interrupts import show_endings_shortly

_MODULES = {
    "agent_run", "agents", "conversations", "model_settings", "node_answers", "planning",
    "ports", "queries", "routing", "servers", "sources", "steps", "toolbelts",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_aside(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


show_endings_shortly()
if "ipykernel" in sys.modules:
    from .panel.channel import follow_nodes

    follow_nodes()
