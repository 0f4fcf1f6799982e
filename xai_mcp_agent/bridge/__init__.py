"""Joins the synchronous canvas to the asynchronous world, and the parts to each other.

What the nodes use is found here by name, and imported when it is first used:
Xircuits imports every component file of a workflow, and that should cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "define_route": "routes",
    "define_tool": "toolbelts",
    "collect_output": "outputs",
    "give_output": "outputs",
    "follow_route": "routes",
    "learn": "teaching",
    "local_memory": "memories",
    "merge_system": "teaching",
    "remote_memory": "memories",
    "words_of": "teaching",
    "make_toolbelt": "toolbelts",
    "use_server": "toolbelts",
    "init_agent": "agents",
    "update_agent": "agents",
    "run_agent": "canvas",
    "run_node": "canvas",
    "run_tool": "canvas",
}
_MODULES = {"servers"}

__all__ = ["servers", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
