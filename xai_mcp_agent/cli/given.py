"""Words that somebody types, checked as they are read: a wrong one is wrong usage."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Annotated

import typer

from ..agent.models.choice import OFFLINE, AgentModel
from ..agent.models.registry import PROVIDERS, unknown_provider
from ..core.names import did_you_mean


def one_of(choices: Collection[str]) -> Callable[[str], str]:
    """What reads a word that must be one of these, in small or capital letters."""

    def read(word: str) -> str:
        if (found := word.strip().lower()) in choices:
            return found
        hint = did_you_mean(found, choices)
        raise typer.BadParameter(f"{word!r} is none of {', '.join(choices)}. {hint}".rstrip())

    return read


def check_named(words: Iterable[str | None]) -> None:
    """Refuse an empty name, as a variable of the shell gives that is not set.

    Raises:
        BadParameter: one of them is empty; None is no name at all.
    """
    if any(x is not None and not x.strip() for x in words):
        raise typer.BadParameter(
            "The name of a server is empty. Give its name in the settings, its URL, or its command."
        )


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = math.nan
    if 0 < seconds < math.inf:
        return seconds
    raise typer.BadParameter(f"{word!r} is no number of seconds above 0.")


def _model(said: str) -> str:
    """A model as `AgentModel.of` takes it, of a provider that there is."""
    chosen = AgentModel.of(said)
    if chosen.provider not in PROVIDERS:
        raise typer.BadParameter(str(unknown_provider(chosen.provider)))
    if not chosen.name and chosen.provider != OFFLINE:
        raise typer.BadParameter(f"{said!r} names no model. Write {chosen.provider}:NAME.")
    return said


Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", parser=_seconds, metavar="SECONDS", help="The longest wait for a call."
    ),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model", parser=_model, metavar="PROVIDER:NAME",
        help="Such as openai:gpt-5-mini, or offline.",
    ),
]  # fmt: skip
