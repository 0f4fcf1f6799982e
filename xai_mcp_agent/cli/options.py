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


def _at(text: str) -> datetime | int:
    try:
        return position_or_moment(text, now())
    except BadTime as reason:
        raise typer.BadParameter(str(reason)) from reason


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
        help="As it was then: 2h ago, 3d, at the end of 2026-11-20, at an event's position.",
    ),
]  # fmt: skip
