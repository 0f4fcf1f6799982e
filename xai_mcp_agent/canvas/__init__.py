"""What the nodes do: a file for each kind of them, and what belongs to one run of a workflow.

What the nodes use is found here by name, and imported when it is first used:
Xircuits imports every component file of a workflow, and that should cost nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from ..core.imports import import_aside
from .interrupts import tell_interrupts_in_few_words

_HOMES = {
    "give_approval": "approving",
    "define_route": "routing",
    "define_tool": "toolbelts",
    "collect_output": "outputs",
    "give_output": "outputs",
    "follow_route": "routing",
    "learn": "learning",
    "local_memory": "memory",
    "merge_system": "learning",
    "remote_memory": "memory",
    "words_of": "learning",
    "make_toolbelt": "toolbelts",
    "moved_port": "moved_ports",
    "always_show_tools": "preferences",
    "prefer_tools": "preferences",
    "use_agent": "toolbelts",
    "use_builtin_tools": "toolbelts",
    "use_functions": "toolbelts",
    "use_server": "toolbelts",
    "use_openapi": "openapi",
    "use_workflow": "workflows",
    "use_tools": "toolbelts",
    "gather_settings": "model_settings",
    "init_agent": "agents",
    "update_agent": "agents",
    "run_agent": "agent_run",
    "run_node": "agent_run",
    "run_tool": "agent_run",
}
_MODULES = ("decisions", "fitting", "history", "planning", "search", "servers", "steps")

__all__ = [*_MODULES, *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_aside(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_aside(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


tell_interrupts_in_few_words()
if "ipykernel" in sys.modules:
    from .lab_channel import follow_nodes

    follow_nodes()
