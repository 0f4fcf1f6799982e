"""Compiles a workflow and runs it in a process: `python -m ... WORKFLOW SCRIPT SECONDS`.

Compiling evaluates a workflow's literals, so that happens here too. The process and what it starts
have limits, if the system supports them; SECONDS limits processor time.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

NOT_COMPILED = 97
"""The exit status when the compiler failed; its error is on stderr."""

_XIRCUITS = "xircuits"
# A lesson takes 200 MB, and prints some kilobytes.
_MEMORY_BYTES = 2 * 1024**3
_FILE_BYTES = 64 * 1024**2


def main(workflow: str, script: str, seconds: str) -> None:
    """Compile the workflow to the script and run the script as if it were started directly."""
    _limit(int(seconds))
    try:
        _compile(workflow, script)
    except Exception:  # noqa: BLE001 - whatever the compiler stumbles over is shown
        traceback.print_exc()
        sys.exit(NOT_COMPILED)
    sys.argv = [script]
    runpy.run_path(script, run_name="__main__")


def _limit(processor_seconds: int) -> None:
    """Limit the process's resources; its children inherit the limits, each for itself."""
    try:
        import resource
    except ImportError:
        return  # on Windows
    for what, most in (
        # Not the address space: some programs reserve a lot and use little.
        (resource.RLIMIT_DATA, _MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CPU, processor_seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a lower limit is set already
            resource.setrlimit(what, (most, most))


def _compile(workflow: str, script: str) -> None:
    # The package imports half of Jupyter, which takes longer than most lessons, and its compiler
    # needs none of it. So import the compiler alone, and drop it again in case the workflow imports
    # the package.
    spec = find_spec(_XIRCUITS)
    package = ModuleType(_XIRCUITS)
    package.__path__ = list(spec.submodule_search_locations or []) if spec else []
    sys.modules[_XIRCUITS] = package
    try:
        import_module(f"{_XIRCUITS}.compiler").compile(workflow, script)
    finally:
        for name in [x for x in sys.modules if x.partition(".")[0] == _XIRCUITS]:
            del sys.modules[name]


if __name__ == "__main__":
    main(*sys.argv[1:])
