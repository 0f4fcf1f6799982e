"""What all commands print alike: JSON for programs, and errors."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def print_json(value: DataclassInstance) -> None:
    """Print a dataclass as JSON on stdout; paths become text."""
    echo_json(asdict(value))


def echo_json(value: Any) -> None:
    """Print a value as JSON on stdout; paths become text."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def print_error(error: Exception, *, as_json: bool) -> None:
    """Print an error: a line on stderr for a person, or an `error` object on stdout."""
    if as_json:
        typer.echo(json.dumps({"error": str(error)}, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"error: {error}", file=sys.stderr)


def shown_command(*words: str) -> str:
    """Join a command so that it can be pasted into a shell."""
    return shlex.join(words)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
