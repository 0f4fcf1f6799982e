"""What all commands print alike: JSON for programs, and errors."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from ..bridge.screen.text import clean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def prepare_streams() -> None:
    """Let nothing fail to be printed: what the terminal's encoding lacks is shown as `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_json(value: DataclassInstance) -> None:
    """Print a dataclass as JSON on stdout; paths become text."""
    echo_json(asdict(value))


def echo_json(value: Any) -> None:
    """Print a value as JSON on stdout; paths become text."""
    typer.echo(_json_text(value))


def print_error(error: Exception, *, as_json: bool) -> None:
    """Print an error: a line on stderr for a person, or an `error` object on stdout."""
    if as_json:
        echo_json({"error": str(error)})
    else:
        say(f"error: {error}", to_stderr=True)


def say(text: str, *, to_stderr: bool = False) -> None:
    """Print lines for a person; what strangers wrote in them moves no cursor and hides nothing."""
    typer.echo(clean(text), err=to_stderr)


def say_result(text: str, *, to_stderr: bool) -> None:
    """Print what a tool answered: to a person as `say` does, to a program as it came."""
    stream: TextIO | None = sys.stderr if to_stderr else sys.stdout  # None: it was closed
    is_for_a_person = stream is not None and stream.isatty()
    typer.echo(clean(text) if is_for_a_person else text, err=to_stderr)


def _json_text(value: Any) -> str:
    """JSON that a person can read, where stdout's encoding can tell it all."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2, default=_plain)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
