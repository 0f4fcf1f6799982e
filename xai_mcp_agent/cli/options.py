"""Options and arguments of all commands, each defined once; a bad value is wrong usage."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from typer import Argument, Option

from ..agent.models.choice import OFFLINE, AgentModel
from ..history.place import IN_MEMORY, OFF
from ..views.times import BadTime, moment, now, position_or_moment

T = TypeVar("T")


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = math.nan
    if 0 < seconds < math.inf:
        return seconds
    raise typer.BadParameter(f"{word!r} is not a number of seconds above 0.")


def _model(word: str) -> str:
    model = AgentModel.of(word)
    if not model.name and model.provider != OFFLINE:
        raise typer.BadParameter(f"{word!r} names no model. Write {model.provider}:NAME.")
    return word


def _time(read: Callable[[str, datetime], T]) -> Callable[[str], T]:
    """Return a parser of a time, whose mistakes are wrong usage."""

    def parse(text: str) -> T:
        try:
            return read(text, now())
        except BadTime as reason:
            raise typer.BadParameter(str(reason)) from reason

    return parse


_since, _at = _time(moment), _time(position_or_moment)
_from = _time(partial(position_or_moment, is_end=False))


def _absolute(store: str) -> str:
    is_file = store and "://" not in store and store not in (IN_MEMORY, OFF)
    return os.path.abspath(os.path.expanduser(store)) if is_file else store


SettingsFile = Annotated[
    Path | None, Option(help="The settings file. Default: the one the nodes would use.")
]
Store = Annotated[
    str | None,
    Option(
        parser=_absolute,
        metavar="PLACE",
        help="The history: a file or a URL. Default: that of the settings.",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON for programs.")]

Server = Annotated[
    str, Argument(help="Its name in the settings, its URL, or the command that starts it.")
]
OneServer = Annotated[
    str | None, Argument(help="Only this server or group: its name, its URL or its command.")
]
DecidedServer = Annotated[
    str, Argument(help="The server, as the settings name it; `canvas` for drawn tools.")
]
OnlyServers = Annotated[
    list[str] | None,
    Option(
        metavar="SERVER",
        help="Only this server or group: its name, its URL or its command. Can be repeated.",
    ),
]
Tool = Annotated[str, Argument(help="The tool, as the server names it.")]
Tools = Annotated[list[str], Argument(help="Its tools, as the server names them.")]
OneTool = Annotated[str | None, Argument(help="Only this tool of the server.")]
Arguments = Annotated[
    list[str] | None, Argument(help="name=value for each, or one JSON object such as '{\"a\": 1}'.")
]

Limit = Annotated[int, Option(min=1, help="Show at most this many.")]
Timeout = Annotated[
    float | None,
    Option(parser=_seconds, metavar="SECONDS", help="The limit for each call, in seconds."),
]
Digest = Annotated[
    str,
    Option(metavar="DIGEST", help="The digest of the reviewed text; no question is asked then."),
]
Model = Annotated[
    str | None,
    Option(
        parser=_model,
        metavar="[PROVIDER:]NAME",
        help="For example gpt-5-mini (of openai), anthropic:claude-sonnet-5, or offline.",
    ),
]
BaseUrl = Annotated[
    str, Option(metavar="URL", help="The address of the model's service, if not its own.")
]
Since = Annotated[
    datetime | None,
    Option(
        parser=_since,
        metavar="TIME",
        help='Only what happened since then: 2h, 3d, 2026-11-20, "2026-11-20 14:00".',
    ),
]
Until = Annotated[
    datetime | None,
    Option(
        parser=_at,
        metavar="TIME",
        help="Only events until then: a time as for --since, or the position of an event.",
    ),
]
AtTime = Annotated[
    datetime | None,
    Option(
        parser=_at,
        metavar="TIME",
        help="The state then: a time as for --since, a date (its end), or an event's position.",
    ),
]
FromTime = Annotated[
    datetime | None,
    Option("--from", parser=_from, metavar="TIME", help="From this time or position on."),
]
ToTime = Annotated[
    datetime | None,
    Option("--to", parser=_at, metavar="TIME", help="Up to this time. Default: now."),
]


def pair_in(word: str, form: str) -> tuple[str, str]:
    """Return name and value of a word such as NAME=VALUE; `form` says what an option takes."""
    name, equals, value = word.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{form}, not {word[:40]!r}.")
    return name, value
