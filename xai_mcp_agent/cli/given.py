"""Words that somebody types, checked as they are read: a wrong one is wrong usage."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Annotated

import typer

from ..agent.models.choice import OFFLINE, AgentModel
from ..core.errors import XaiMcpError
from ..core.names import did_you_mean

MODEL_WORDS = {
    " or in the environment, or `api_key` of AgentModel": " or in the environment",
    "Set `api_key` of AgentModel, such as ${ACME_API_KEY}. OPENAI_API_KEY is sent": (
        "Set OPENAI_BASE_URL to this address: OPENAI_API_KEY is sent"
    ),
    "Set `api_key` of AgentModel, such as ${ACME_API_KEY}.": "Leave --base-url out.",
    "`api_key` and `base_url` of AgentModel, or OPENAI_API_KEY": "OPENAI_API_KEY",
    "The provider `offline` needs no key.": "`--model offline` needs no key.",
    "`base_url`": "`--base-url`",
    "Raise `timeout_seconds`, or check whether": "Check whether",
    "Raise `turn_timeout_seconds`, or have it answer shorter with `max_output_tokens`.": (
        "Ask for a shorter answer."
    ),
    "Raise `max_output_tokens` of AgentModelLimits, or lower its `reasoning_effort`.": (
        "Ask for a shorter answer, or use another model."
    ),
    "Raise `max_thoughts` of AgentInit, or tell it in `system_prompt` when to answer.": (
        "Tell it with `--system` when to answer, or ask for less at once."
    ),
    "Use the text protocol for it, or a model that can.": "Use a model that can.",
}
LIMIT_WORDS = {"`timeout_seconds`": "`--timeout`"}


def one_of(choices: Collection[str]) -> Callable[[str], str]:
    """What reads a word that must be one of these, in small or capital letters."""

    def read(word: str) -> str:
        if (found := word.strip().lower()) in choices:
            return found
        hint = did_you_mean(found, choices)
        raise typer.BadParameter(f"{word!r} is none of {', '.join(choices)}. {hint}".rstrip())

    return read


@contextmanager
def in_our_words(words: Mapping[str, str]) -> Generator[None]:
    """Tell errors in words of the command line, where they name arguments or ports."""
    try:
        yield
    except XaiMcpError as error:
        if (told := reworded(str(error), words)) != str(error):
            raise XaiMcpError(told) from error
        raise


def reworded(text: str, words: Mapping[str, str]) -> str:
    """The text with these words in place of those, in their order."""
    for theirs, ours in words.items():
        text = text.replace(theirs, ours)
    return text


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
    """A model as `AgentModel.of` takes it, with its name."""
    chosen = AgentModel.of(said)
    if not chosen.name and chosen.provider != OFFLINE:
        raise typer.BadParameter(f"{said!r} names no model. Write {chosen.provider}:NAME.")
    return said


Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", parser=_seconds, metavar="SECONDS", help="The limit for each call, in seconds."
    ),
]
MODEL_OPTION = typer.Option(
    "--model",
    parser=_model,
    metavar="[PROVIDER:]NAME",
    help="For example gpt-5-mini (of openai), anthropic:claude-sonnet-5, or offline.",
)
ModelName = Annotated[str, MODEL_OPTION]
