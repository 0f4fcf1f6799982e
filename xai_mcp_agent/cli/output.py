"""Output of commands: text, JSON and errors; questions to a person; and files of a person."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TextIO

import typer

from ..console.surface import surface_of
from ..console.terminal_questions import (
    Ended,
    Read,
    agrees,
    forget_typed,
    read_line,
    why_not_here,
)
from ..console.text import clean, columns
from ..core.errors import XaiMcpError
from ..core.questions import ANSWER_SECONDS
from ..core.visible import is_visible
from ..secrets.private_files import replace_file, replace_private

_COMMAND = re.compile(r"`[^`\n]+`")
_WHOLE_COLUMNS = 10_000
_STAYS = "\ue000"  # stands for a blank at which no line ends
# To be copied: in two lines they are another command, or no JSON.
_IN_ONE_PIECE = ("xai-mcp-agent ", "xircuits ", '"')


def prepare_streams() -> None:
    """Let nothing fail to be printed: what the terminal's encoding lacks is shown as `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def keep_stdout_for_json() -> None:
    """Let nothing but our JSON go to stdout: what writes to its descriptor writes to stderr.

    A C library does, or a program that a function starts.
    """
    try:
        own = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of the two is closed
        return
    sys.stdout = os.fdopen(own, "w", encoding=sys.stdout.encoding, errors="replace")


def echo_json(value: Any) -> None:
    """Print a value as JSON on stdout; in it dataclasses become objects, and paths text."""
    typer.echo(_json_text(value))


def print_error(error: Exception, *, as_json: bool) -> None:
    """Print an error: a line on stderr for a person, or an `error` object on stdout."""
    if as_json:
        echo_json({"error": str(error)})
    else:
        say(f"error: {error}", to_stderr=True)


def folded(text: str, first: str = "", after: str = "", width: int | None = None) -> list[str]:
    """The text in lines for a person; what is longer than one, as a path, stays whole.

    So does a command between backticks that a line has room for: it is to be copied.
    """
    width = width or text_width()
    lines = textwrap.wrap(
        _COMMAND.sub(lambda x: _whole(x[0], width - len(after)), clean(text)), width,
        initial_indent=first, subsequent_indent=after,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [x.replace(_STAYS, " ") for x in lines]


def text_width() -> int:
    """How many columns a line for a person may have."""
    return surface_of(sys.stdout).width


def table_width() -> int:
    """How many columns a table may have; in files and programs its names stay whole."""
    surface = surface_of(sys.stdout)
    return surface.width if surface.kind == "terminal" else _WHOLE_COLUMNS


def say(text: str, *, to_stderr: bool = False) -> None:
    """Print lines for a person; what strangers wrote in them moves no cursor and hides nothing.

    At a terminal no line is longer than it is wide. Files and programs get them as they are.
    """
    typer.echo(_fitted(clean(text), sys.stderr if to_stderr else sys.stdout), err=to_stderr)


def says_yes(question: str, otherwise: str = "") -> bool:
    """Ask the person at the terminal; no, where they close it or say nothing for long.

    `otherwise` is what to do where nobody can be asked.

    Raises:
        XaiMcpError: nobody can be.
    """
    if why_not := why_not_here():
        raise XaiMcpError(f"Nobody can be asked: {why_not}. {otherwise}".rstrip())
    forget_typed()  # what was typed before the question was seen is no answer to it
    try:
        read = reader_until(ANSWER_SECONDS)
        return agrees(f"{question} (yes or no): ", lambda _, text: say(text), read)
    except (Ended, TimeoutError):
        return False


def reader_until(seconds: float) -> Read:
    """Return what reads a line of the person at the terminal, for so many seconds from now."""
    deadline, over = time.monotonic() + seconds, threading.Event()

    def read(prompt: str) -> str:
        typer.echo(_fitted(clean(prompt), sys.stdout), nl=False)
        return read_line(deadline, over)

    return read


def say_result(text: str, *, to_stderr: bool) -> None:
    """Print what a tool answered: to a person as `say` does, to a program as it came."""
    stream: TextIO | None = sys.stderr if to_stderr else sys.stdout  # None: it was closed
    is_for_a_person = stream is not None and stream.isatty()
    typer.echo(clean(text) if is_for_a_person else text, err=to_stderr)


def free_backup_name(folder: Path, name: str) -> Path:
    """Return a path in `folder` for a backup of the file `name`, where nothing is yet."""
    backup = folder / f"{name}.bak"
    number = 2
    while os.path.lexists(backup):
        backup = folder / f"{name}.{number}.bak"
        number += 1
    return backup


def replace_text(file: Path, text: str) -> Path | None:
    """Write `text` to `file`, whole or not at all; return where the old file is kept, if any.

    A link is followed: the file that it leads to is replaced.

    Raises:
        OSError: it cannot be written; the old file is then untouched.
    """
    target = file.resolve() if file.is_symlink() else file
    backup = None
    if target.exists():
        backup = free_backup_name(target.parent, target.name)
        _keep(target, backup)
    replace_file(target, text.encode())
    return backup


def _keep(file: Path, backup: Path) -> None:
    """Give a file a second name, which it has at once and whole; where that cannot be, a copy."""
    try:
        os.link(file, backup)
    except OSError:  # another kind of file system
        replace_private(backup, file.read_bytes())
        shutil.copystat(file, backup)


def _json_text(value: Any) -> str:
    """JSON that a person can read, where stdout's encoding can tell it all, and nothing hides."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2, default=_plain)
    return text if is_visible(text) else json.dumps(value, indent=2, default=_plain)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _fitted(text: str, stream: Any) -> str:
    """Cleaned lines, folded where they are for a terminal."""
    surface = surface_of(stream)
    if surface.kind != "terminal":
        return text
    return "\n".join(x for line in text.split("\n") for x in _fitted_line(line, surface.width))


def _fitted_line(line: str, width: int) -> list[str]:
    words = line.lstrip()
    if columns(line) <= width or words.startswith(_IN_ONE_PIECE):
        return [line]
    indent = line[: len(line) - len(words)]
    lines = folded(words, indent, f"{indent}  ", width)
    return [*lines[:-1], lines[-1] + line[len(line.rstrip()) :]]


def _whole(command: str, width: int) -> str:
    return command.replace(" ", _STAYS) if len(command) <= width else command
