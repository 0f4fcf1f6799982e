"""Runs a workflow in the panel's kernel, as Xircuits' Run does: saved, compiled, and whole."""

from __future__ import annotations

import io
import os
import runpy
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path

from ...core.errors import BadSetting
from . import channel
from .chat import chats, turn

_modified_times = dict[str, int]()


def ask(path: str, question: str = "") -> None:
    """Run a workflow and have its agent answer the question; without one, run it as drawn.

    Raises:
        BadSetting: the workflow cannot be compiled, or none of its agents took the question.
    """
    os.environ.setdefault("XAI_MCP_SHOW", "quiet")  # the panel shows what the console would
    channel.begin(path, question=question, by="panel")
    channel.follow_nodes()
    script = _compile(Path(path))
    _drop_changed_modules()
    sys.path.insert(0, str(script.parent))
    argv, sys.argv = sys.argv, [str(script)]  # Xircuits reads its arguments there
    try:
        with turn(path, question) as chat:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = argv
        sys.path.remove(str(script.parent))
        _drop_changed_modules()  # this also records the times of new modules
    if question and not chat.is_asked:
        raise BadSetting("No agent of this workflow took the question; it ran as drawn.")


def begin_anew(path: str) -> None:
    """Forget the conversation with a workflow, and its runs."""
    chats.pop(path, None)
    channel.send("Forgot", path=path)
    for run in [x for x in channel.runs if x.path == path and x.is_over]:
        channel.runs.remove(run)


def _compile(workflow: Path) -> Path:
    # Imported here: it is slow, and a page that only watches does not need it.
    from xircuits.compiler.compiler import (  # pyright: ignore[reportMissingTypeStubs]
        recursive_compile,  # pyright: ignore[reportUnknownVariableType]
    )

    script, output = workflow.absolute().with_suffix(".py"), io.StringIO()
    with redirect_stdout(output), suppress(ValueError):
        recursive_compile(str(workflow))
    if f"Compiled {workflow.absolute()} to" not in output.getvalue():
        raise BadSetting(f"{workflow} cannot be compiled. {output.getvalue().strip()}")
    return script


def _drop_changed_modules() -> None:
    """Unload node files that changed on disk, except Xircuits' own, to import them again."""
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if not name.startswith("xai_components.") or name == "xai_components.base" or not file:
            continue
        modified = os.stat(file).st_mtime_ns if os.path.exists(file) else 0
        if _modified_times.setdefault(name, modified) != modified:
            del sys.modules[name], _modified_times[name]
