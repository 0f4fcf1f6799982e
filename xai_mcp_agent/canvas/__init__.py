"""What the nodes do: a file for each kind of them, and what belongs to one run of a workflow.

What the nodes use is found here by name, and imported when it is first used:
Xircuits imports every component file of a workflow, and that should cost nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from ..core.imports import import_aside
from .interrupts import show_endings_shortly

_HOMES = {
    "change_agent": "agents",
    "collect_output": "node_answers",
    "define_route": "routing",
    "define_tool": "toolbelts",
    "env_of": "model_settings",
    "follow_route": "routing",
    "gather_settings": "model_settings",
    "give_approval": "node_answers",
    "give_output": "node_answers",
    "init_agent": "agents",
    "inputs": "ports",
    "learn": "agent_run",
    "local_memory": "model_settings",
    "make_toolbelt": "toolbelts",
    "merge_system": "conversations",
    "outputs": "ports",
    "prefer_tools": "toolbelts",
    "raw_inputs": "ports",
    "remote_memory": "model_settings",
    "run_agent": "agent_run",
    "run_node": "agent_run",
    "run_tool": "agent_run",
    "set_up_agent": "agents",
    "use": "sources",
    "use_builtin_tools": "sources",
    "use_openapi": "sources",
    "use_workflow": "sources",
    "words_of": "conversations",
}
_MODULES = ("planning", "queries", "servers", "steps")

__all__ = [*_MODULES, *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_aside(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_aside(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


show_endings_shortly()
if "ipykernel" in sys.modules:
    from .lab_channel import follow_nodes

    follow_nodes()
