"""The lab's palette for a folder, by Xircuits' own request handler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import xai_mcp_agent

_ASK_SECONDS = 60  # a child that imports half of Jupyter on a busy machine

# The handler as the server runs it, only without a connection to answer on.
_ASK_HANDLER = """
import sys
from xircuits.handlers.components import ComponentsRouteHandler

class Handler(ComponentsRouteHandler):
    current_user = "test"

    def __init__(self):
        pass

    def finish(self, chunk):
        sys.stdout.write(chunk)

Handler().get()
"""

# What a port is at run time; the palette reads the same from the source text.
_ASK_MODULES = """
import importlib, json, pathlib, sys
sys.path.insert(0, "")
from xai_components.base import BaseComponent, InArg, InCompArg, OutArg

def ports(component):
    names = type(component).__annotations__
    return [n for n in names if isinstance(getattr(component, n), (InArg, InCompArg, OutArg))
            or names[n] is BaseComponent]

classes = {}
for name in sys.argv[1:]:
    module = importlib.import_module(f"xai_components.xai_mcp_agent.{name}")
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            classes[value.__name__] = ports(value())
json.dump(classes, sys.stdout)
"""


def palette(folder: Path, python: str = sys.executable) -> list[dict[str, Any]]:
    """Return the palette's entries for a lab started in `folder`; fails where the lab would."""
    answer = json.loads(_run(folder, python, _ASK_HANDLER))
    assert answer["error_msg"] == "", answer["error_msg"]
    return answer["components"]


def our_palette(folder: Path, python: str = sys.executable) -> dict[str, dict[str, Any]]:
    """Return only this library's entries, by class name."""
    entries = palette(folder, python)
    return {entry["class"]: entry for entry in entries if entry["category"] == "MCP_AGENT"}


def ports_at_run_time(folder: Path, modules: list[str]) -> dict[str, list[str]]:
    """Import our component `modules` like a compiled script in `folder`; return ports by class."""
    engine = str(Path(xai_mcp_agent.__file__).parents[1])
    return json.loads(_run(folder, sys.executable, _ASK_MODULES, *modules, PYTHONPATH=engine))


def _run(folder: Path, python: str, code: str, *arguments: str, **more: str) -> str:
    # A home of its own: the palette also reads ~/xai_components.
    environment = {**os.environ, "HOME": str(folder), **more}
    environment.pop("XIRCUITS_COMPONENTS_DIR", None)
    process = subprocess.run(
        [python, "-P", "-c", code, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=_ASK_SECONDS,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout
