"""Options that several commands have."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ..bridge.past.times import BadTime, moment, now, position_or_moment


def _since(text: str) -> datetime:
    try:
        return moment(text, now())
    except BadTime as reason:
        raise typer.BadParameter(str(reason)) from reason


def _at(text: str, *, is_end: bool = True) -> datetime | int:
    try:
        return position_or_moment(text, now(), is_end=is_end)
    except BadTime as reason:
        raise typer.BadParameter(str(reason)) from reason


def _from(text: str) -> datetime | int:
    return _at(text, is_end=False)


SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", help="The settings file. Default: looked for as the nodes do."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="The history: a file or a URL. Default: that of the settings."),
]
Since = Annotated[
    datetime | None,
    typer.Option(
        "--since", parser=_since, metavar="TIME",
        help='Only what happened since then: 2h, 3d, 2026-11-20, "2026-11-20 14:00".',
    ),
]  # fmt: skip
AtTime = Annotated[
    datetime | None,
    typer.Option(
        "--at", parser=_at, metavar="TIME",
        help="As it was then: a time as for --since, the end of a day, or an event's position.",
    ),
]  # fmt: skip
FromTime = Annotated[
    datetime | None,
    typer.Option(
        "--from", parser=_from, metavar="TIME", help="From then on: a time or a position."
    ),
]
ToTime = Annotated[
    datetime | None,
    typer.Option("--to", parser=_at, metavar="TIME", help="Up to then. Default: now."),
]
