"""Compiles a workflow and runs it, in a process of its own: `python -m ... WORKFLOW SCRIPT`.

A literal of a workflow is evaluated when it is compiled, so that is done here too.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

NOT_COMPILED = 97
"""The exit status when the compiler failed; its error is on stderr."""

_XIRCUITS = "xircuits"


def main(workflow: str, script: str) -> None:
    """Compile the workflow to the script and run that as if it had been started itself."""
    try:
        _compile(workflow, script)
    except Exception:  # noqa: BLE001 - whatever the compiler stumbles over is shown
        traceback.print_exc()
        sys.exit(NOT_COMPILED)
    sys.argv = [script]
    runpy.run_path(script, run_name="__main__")


def _compile(workflow: str, script: str) -> None:
    # The package brings half of Jupyter, and takes longer than most lessons; its compiler needs
    # nothing of that. So that alone is imported, and forgotten again for whoever wants it all.
    found = find_spec(_XIRCUITS)
    package = ModuleType(_XIRCUITS)
    package.__path__ = list(found.submodule_search_locations or []) if found else []
    sys.modules[_XIRCUITS] = package
    try:
        import_module(f"{_XIRCUITS}.compiler").compile(workflow, script)
    finally:
        for name in [x for x in sys.modules if x.partition(".")[0] == _XIRCUITS]:
            del sys.modules[name]


if __name__ == "__main__":
    main(*sys.argv[1:])
