"""A program in a terminal, and a person who types; every wait has a limit."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .scripts import child_environment

_SECONDS = 40.0  # a child that starts servers, on a busy machine


class Terminal:
    """The program's output and input. Made by `terminal`."""

    def __init__(self, child: subprocess.Popen[bytes], file: int) -> None:
        self._child = child
        self._file = file
        self._position = 0
        self.text = ""

    def expect(self, text: str) -> str:
        """Wait for this text after the last one; return the output up to its end."""
        until = time.monotonic() + _SECONDS
        while text not in self.text[self._position :]:
            assert time.monotonic() < until, f"no {text!r} in:\n{self.text}"
            assert self._read_more(), f"ended without {text!r}:\n{self.text}"
        end = self.text.index(text, self._position) + len(text)
        before, self._position = self.text[self._position : end], end
        return before

    def type(self, line: str, *, enter: bool = True) -> None:
        """Type a line."""
        os.write(self._file, line.encode() + (b"\n" if enter else b""))

    def end(self) -> int:
        """Wait for the program's end; return its status."""
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until and self._read_more():
            pass
        return self._child.wait(_SECONDS)

    def _read_more(self) -> bool:
        """Read new output, if there is any; False at the end."""
        if not select.select([self._file], [], [], 0.2)[0]:
            return True
        try:
            data = os.read(self._file, 65_536)
        except OSError:  # the program has closed its end
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(*command: str, folder: Path, **variables: str) -> Generator[Terminal]:
    """Run a command in a terminal for the length of the block."""
    ours, theirs = os.openpty()
    variables = {"TERM": "xterm", "NO_COLOR": "1", "DISPLAY": "", **variables}
    child = subprocess.Popen(
        [*command], cwd=folder, env=child_environment(folder, **variables), start_new_session=True,
        stdin=theirs, stdout=theirs, stderr=theirs,
        preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(child, ours)
    finally:
        child.kill()
        child.wait(_SECONDS)
        os.close(ours)


def _take_terminal() -> None:
    """Make it the terminal of the child, so that Ctrl-C reaches the child."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
