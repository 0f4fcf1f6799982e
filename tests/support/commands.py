"""Runs the command in this process, as a person or a program types it."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from xai_mcp_agent.cli.main import run

SERVERS = Path(__file__).parents[2] / "examples" / "servers"
# A process that is the command, for tests of terminals, signals and several at once.
AS_A_PROCESS = ("-c", "from xai_mcp_agent.cli.main import run; run()")
_CODE = re.compile(r"\x1b\[[\d;]*m")


class CommandResult(NamedTuple):
    """Status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout, read as JSON."""
        return json.loads(self.out)

    @property
    def text(self) -> str:
        """All output, without line breaks."""
        return " ".join((self.out + self.err).split())

    def shows(self, *texts: str, status: int = 0) -> CommandResult:
        """Check the exit status, and that these texts are in the output; return the result."""
        missing = [x for x in texts if x not in self.text]
        assert (self.status, missing) == (status, []), self
        return self

    def fails(self, *texts: str, status: int = 1) -> CommandResult:
        """The same for a command that prints an error and nothing on stdout."""
        assert self.out == "", self
        return self.shows(*texts, status=status)


class Cli:
    """Runs commands: `cli("tools list", "shop", "--json").json`."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, line: str, *words: str) -> CommandResult:
        """Run a command; `line` is split as a shell does, `words` stay whole."""
        self._capture.readouterr()
        with pytest.raises(SystemExit) as exit_:
            run([*shlex.split(line), *words])
        return CommandResult(int(exit_.value.code or 0), *self._capture.readouterr())


class Screen(io.StringIO):
    """A terminal, as far as a program asks."""

    def isatty(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return -1: there is no file, so the default width counts."""
        return -1

    def lines(self) -> list[str]:
        """Return the lines on the screen, without colours."""
        return _CODE.sub("", self.getvalue()).splitlines()


def at_terminal(patch: pytest.MonkeyPatch, line: str, *words: str) -> Screen:
    """Run a command at a terminal where nobody types; return the screen."""
    screen = Screen()
    with patch.context() as inner:
        inner.setattr("sys.stdout", screen)
        inner.setattr("sys.stderr", screen)
        inner.setattr("sys.stdin", io.StringIO())
        with pytest.raises(SystemExit):
            run([*shlex.split(line), *words])
    return screen


def write_settings(folder: Path, servers: dict[str, Any], **beside: Any) -> Path:
    """Write the settings of a folder."""
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": servers, **beside}), encoding="utf-8")
    return file
