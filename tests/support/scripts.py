"""Compiles workflows with Xircuits' own compiler and runs the scripts as children."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import xai_mcp_agent

from .warm_python import warm_python

# The compiler parses Python, which 3.11.7 cannot do in two threads at once (cpython, gh-106905).
_parser_lock = threading.Lock()
_RUN_SECONDS = 60  # a child that starts servers, on a busy machine
_ROOT = Path(xai_mcp_agent.__file__).parents[1]
# Variables that would let this machine or a person's settings decide a test.
_FOREIGN = ("XAI_MCP_SETTINGS", "XAI_MCP_SHOW", "FORCE_COLOR", "CI", "OPENAI_API_KEY",
            "OPENAI_BASE_URL", "XIRCUITS_COMPONENTS_DIR")  # fmt: skip


def compile_workflow(file: Path, script: Path | None = None) -> Path:
    """Compile a workflow, by default to the `.py` beside it, and return the script's path."""
    from xircuits.compiler import compile as compile_file  # brings half of Jupyter

    script = script or file.with_suffix(".py")
    with _parser_lock:
        compile_file(str(file), str(script))
    return script


def child_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return an environment in which a child finds this library, a home of its own, and no keys."""
    own = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return own | {"HOME": str(home), "PYTHONPATH": str(_ROOT), **variables}


def run_script(script: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in the folder it is in, and wait for its end."""
    folder = script.parent
    return subprocess.run(
        [warm_python(), script.name],
        cwd=folder, env=child_environment(folder, **variables), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, encoding="utf-8", timeout=_RUN_SECONDS,
    )  # fmt: skip
