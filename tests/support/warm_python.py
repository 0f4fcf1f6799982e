"""A Python with large libraries and the engine loaded: importing them is half of a test's time.

`warm_python()` is the path of an executable that runs a script as Python would, in a fork of a
process that has imported them once; see `warm_client.py` and `warm_process.py`. Tests of scripts
and servers use it; tests of how processes start and end use the Python that runs them.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import warm_client, warm_process

_VARIABLE = "TESTS_WARM_PYTHON"
_END_SECONDS = 60.0


def warm_python() -> str:
    """Return the path of the executable, or of the usual Python where there is none."""
    return os.environ.get(_VARIABLE, sys.executable)


def python_entry(file: str | Path, *arguments: object, **settings: Any) -> dict[str, Any]:
    """Return the entry of a settings file for a server that is this Python file."""
    return {"command": warm_python(), "args": [str(file), *map(str, arguments)], **settings}


@contextmanager
def warm_interpreter() -> Iterator[None]:
    """Make `warm_python()` warm in the block, and in processes started in it (Linux)."""
    if sys.platform != "linux" or _VARIABLE in os.environ:
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    try:
        with warm_interpreter_in(sys.executable, folder) as executable:
            os.environ[_VARIABLE] = executable
            yield
    finally:
        os.environ.pop(_VARIABLE, None)
        shutil.rmtree(folder)


@contextmanager
def warm_interpreter_in(python: str, folder: Path) -> Iterator[str]:
    """Run a warm `python` of this interpreter in a folder; yield its path."""
    process = _start_process(python, folder)
    try:
        yield str(folder / "python")
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_END_SECONDS)


def _start_process(python: str, folder: Path) -> subprocess.Popen[bytes]:
    executable = folder / "python"
    text = Path(warm_client.__file__).read_text(encoding="utf-8")
    executable.write_text(f"#!{python} -SE\n{text}", encoding="utf-8")
    executable.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / warm_client.SOCKET))
        listening.listen(64)
        return subprocess.Popen(
            [python, warm_process.__file__, str(listening.fileno())],
            cwd=folder, pass_fds=[listening.fileno()], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
