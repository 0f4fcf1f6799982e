"""Asks the person in front of a run whether a settings file may start what it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from ..console.console import Console
from ..core.errors import SettingsError
from ..core.json import JsonObject
from ..core.questions import Question
from ..policy.approval_trust import approvals_in
from ..settings.models import Part, Settings
from ..settings.trust import TrustStore, trust_command, without_parts
from .person import ask_here

_NOTHING_TO_FILL_IN: JsonObject = {"type": "object", "properties": {}}
_WHY = (
    "You have not agreed to this yet, or it has changed since. Go on only if you know where the "
    "file comes from."
)


def agreed_settings(settings: Settings, store: TrustStore | None = None) -> Settings:
    """Return the settings with all parts that the person agreed to, now or before."""
    store = store or TrustStore()
    approved = approvals_in(settings)
    parts = store.untrusted_parts(settings, approved)
    if not parts:
        return settings
    with Console("settings") as console:
        answer = ask_here(_question(settings, parts), console)
        if answer.action != "accept":
            console.tell("!!", f"{settings.file} is not trusted: {answer.reason}. {_how(settings)}")
            return without_parts(settings, parts)
        try:
            store.agree(settings, approved)
        except SettingsError as reason:
            console.tell("!!", f"{reason} You will be asked again.")
    return settings


def shown_text(settings: Settings, parts: Iterable[Part]) -> str:
    """Return what these parts of a file do and what it withholds, without secrets."""
    does = [(x.key_path, y) for x in parts for y in x.facts]
    holds = [(x.key_path, x.description) for x in settings.guards if not x.source]
    return "\n".join((*_by_place(does), *(["It holds back:"] if holds else []), *_by_place(holds)))


def _by_place(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for place, group in groupby(facts, lambda x: x[0]):
        yield f"  {place}:"
        yield from (f"      {fact}" for _, fact in group)


def _question(settings: Settings, parts: Iterable[Part]) -> Question:
    file = Path(settings.file)
    message = f"{shown_text(settings, parts)}\nFrom: {file}\n{_WHY}"
    heading = f"Start these programs? They are new in {file.name}."
    return Question(
        settings.file, message, _NOTHING_TO_FILL_IN, heading=heading, yes="Start them", no="Not now"
    )


def _how(settings: Settings) -> str:
    return f"To trust it: {trust_command(settings.file)}"
