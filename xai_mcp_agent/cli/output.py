"""Output of commands: text, JSON, errors, questions to a person, and files."""

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
from collections.abc import Collection
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TextIO

import typer

from ..console.surface import surface_of
from ..console.terminal_questions import (
    QuestionsEnded,
    Read,
    agrees,
    discard_input,
    read_line,
    why_not_here,
)
from ..console.text import clean, columns
from ..core.errors import XaiMcpError
from ..core.questions import ANSWER_SECONDS
from ..core.visible import is_visible
from ..drawing.rules import name_problem
from ..secrets.private_files import replace_file, replace_private

_COLUMN = re.compile(r"\S{1,8}  ")  # before a text, such as a time
_COMMAND = re.compile(r"`[^`\n]+`")
_UNCUT_COLUMNS = 10_000
_UNBREAKABLE = "\ue000"  # placeholder for a space where no line may break
# To be copied: broken into two lines it would be another command, or invalid JSON.
_NEVER_WRAPPED = ("xai-mcp-agent ", "xircuits ", '"')


def prepare_streams() -> None:
    """Replace characters that the terminal's encoding lacks with `?`: printing never fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def keep_stdout_for_json() -> None:
    """Keep stdout for our JSON: send direct writes to its descriptor to stderr.

    A C library, or a program that a function starts, writes there.
    """
    try:
        own = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # stdout or stderr is closed
        return
    sys.stdout = os.fdopen(own, "w", encoding=sys.stdout.encoding, errors="replace")


def echo_json(value: Any) -> None:
    """Print a value as JSON on stdout; dataclasses become objects, paths become text."""
    typer.echo(_json_text(value))


def print_error(error: Exception, *, as_json: bool) -> None:
    """Print an error: a line on stderr for a person, or an `error` object on stdout."""
    if as_json:
        echo_json({"error": str(error)})
    else:
        say(f"error: {error}", to_stderr=True)


def table_width() -> int:
    """Return the number of columns for a table; in files and pipes names stay whole."""
    surface = surface_of(sys.stdout)
    return surface.width if surface.kind == "terminal" else _UNCUT_COLUMNS


def say(text: str, *, to_stderr: bool = False) -> None:
    """Print lines for a person, cleaned of control characters in text from strangers.

    At a terminal lines are wrapped to its width; files and pipes get them as they are.
    """
    typer.echo(_fit(clean(text), sys.stderr if to_stderr else sys.stdout), err=to_stderr)


def says_yes(question: str, otherwise: str = "") -> bool:
    """Ask the person at the terminal; return False if they close it or do not answer in time.

    `otherwise` says what to do if nobody can be asked.

    Raises:
        XaiMcpError: nobody can be asked.
    """
    if why_not := why_not_here():
        raise XaiMcpError(f"Nobody can be asked: {why_not}. {otherwise}".rstrip())
    discard_input()  # keys typed before the question are not an answer to it
    try:
        read = reader_until(ANSWER_SECONDS)
        return agrees(f"{question} (yes or no): ", lambda _, text: say(text), read)
    except (QuestionsEnded, TimeoutError):
        return False


def reader_until(seconds: float) -> Read:
    """Return a reader of lines at the terminal with a time limit from now."""
    deadline, over = time.monotonic() + seconds, threading.Event()

    def read(prompt: str) -> str:
        typer.echo(_fit(clean(prompt), sys.stdout), nl=False)
        return read_line(deadline, over)

    return read


def say_result(text: str, *, to_stderr: bool) -> None:
    """Print a tool's answer: cleaned for a person, unchanged for a program."""
    stream: TextIO | None = sys.stderr if to_stderr else sys.stdout  # None if stdout was closed
    is_for_a_person = stream is not None and stream.isatty()
    typer.echo(clean(text) if is_for_a_person else text, err=to_stderr)


def free_backup_name(folder: Path, name: str) -> Path:
    """Return a free path in `folder` for a backup of the file `name`."""
    backup = folder / f"{name}.bak"
    number = 2
    while os.path.lexists(backup):
        backup = folder / f"{name}.{number}.bak"
        number += 1
    return backup


def replace_text(file: Path, text: str) -> Path | None:
    """Write `text` to `file` atomically; return the backup of the old file, if there was one.

    A link is followed: its target is replaced.

    Raises:
        OSError: it cannot be written; the old file is then untouched.
    """
    target = file.resolve() if file.is_symlink() else file
    backup = None
    if target.exists():
        backup = free_backup_name(target.parent, target.name)
        replace_private(backup, target.read_bytes())
        shutil.copystat(target, backup)
    replace_file(target, text.encode())
    return backup


class WriteFailed(XaiMcpError):
    """A file is there already or cannot be written; the message names it and what to do."""


def write_file(file: Path, text: str, option: str, *, may_replace: bool) -> Path | None:
    """Write a file, and return the backup of one that it replaces. `option` names another place.

    Raises:
        WriteFailed: it cannot be written, or another one is there and it may not be replaced.
    """
    try:
        if os.path.lexists(file) and not may_replace:  # also a dangling link
            if file.exists() and file.read_bytes() == text.encode():
                return None
            raise WriteFailed(
                f"{file} is there already and differs. Name another place with {option}, or "
                "replace it with --overwrite; the old one is then kept as a backup."
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        return replace_text(file, text)
    except OSError as cause:
        raise WriteFailed(
            f"{file} cannot be written: {cause.strerror or cause}. Name another place with "
            f"{option}."
        ) from cause


def compilable(stem: str, names: Collection[str] = ()) -> str:
    """Return a name for a workflow's file that Xircuits can compile: it becomes a class's name."""
    plain = "".join(x if x == "-" or f"_{x}".isidentifier() else "_" for x in stem)
    return f"workflow_{plain}" if name_problem(plain.replace("-", "_"), names) else plain


def _json_text(value: Any) -> str:
    """Return readable JSON, with escapes where stdout's encoding or hidden characters need them."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_as_json)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2, default=_as_json)
    return text if is_visible(text) else json.dumps(value, indent=2, default=_as_json)


def _as_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _fit(text: str, stream: Any) -> str:
    """Return cleaned lines, wrapped for a terminal."""
    surface = surface_of(stream)
    if surface.kind != "terminal":
        return text
    return "\n".join(y for x in text.split("\n") for y in _wrap_line(x, surface.width))


def _wrap_line(text: str, width: int) -> list[str]:
    """Wrap a line under its text, or two spaces in; a word that is too long stays whole.

    A command in backticks is not broken if a line has room for it, so that it can be copied.
    """
    words = text.lstrip()
    if columns(text) <= width or words.startswith(_NEVER_WRAPPED):
        return [text]
    indent = text[: len(text) - len(words)]
    column = _COLUMN.match(words)
    after = indent + " " * (len(column[0]) if column else 2)
    lines = textwrap.wrap(
        _COMMAND.sub(lambda x: _unbreakable(x[0], width - len(after)), words), width,
        initial_indent=indent, subsequent_indent=after,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    lines[-1] += text[len(text.rstrip()) :]  # the space after a question
    return [x.replace(_UNBREAKABLE, " ") for x in lines]


def _unbreakable(command: str, width: int) -> str:
    return command.replace(" ", _UNBREAKABLE) if len(command) <= width else command
