"""Joins the synchronous canvas to the asynchronous world, and the parts to each other.

What the nodes use is found here by name, and imported when it is first used:
Xircuits imports every component file of a workflow, and that should cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "define_route": "nodes.routes",
    "define_tool": "nodes.toolbelts",
    "collect_output": "nodes.outputs",
    "give_output": "nodes.outputs",
    "follow_route": "nodes.routes",
    "learn": "nodes.teaching",
    "local_memory": "nodes.memories",
    "merge_system": "nodes.teaching",
    "remote_memory": "nodes.memories",
    "words_of": "nodes.teaching",
    "make_toolbelt": "nodes.toolbelts",
    "use_server": "nodes.toolbelts",
    "init_agent": "nodes.agents",
    "update_agent": "nodes.agents",
    "run_agent": "nodes.canvas",
    "run_node": "nodes.canvas",
    "run_tool": "nodes.canvas",
}
_MODULES = {"decisions", "histories", "servers"}

__all__ = ["decisions", "histories", "servers", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".nodes.{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
