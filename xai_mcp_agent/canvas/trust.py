"""Asks the person in front of a run whether a settings file may start what it names."""

from __future__ import annotations

from collections.abc import Iterable

from ..console.console import Console
from ..core.elicitation import Question
from ..core.errors import SettingsError
from ..core.tools import JsonObject
from ..policy.approval_trust import approvals_in
from ..settings.models import Settings
from ..settings.parts import Part
from ..settings.trust import TrustStore, trust_command, withheld
from .interactive_host import ask_here

_NOTHING_TO_FILL_IN: JsonObject = {"type": "object", "properties": {}}
_INTRODUCTION = (
    "You have not agreed yet to what this settings file starts or reaches, or it has changed "
    "since. Go on only if you know where it comes from:"
)


def agreed_settings(settings: Settings, store: TrustStore | None = None) -> Settings:
    """The settings with all that the person agreed to, now or before; the rest is withheld."""
    store = store or TrustStore()
    approved = approvals_in(settings)
    parts = store.not_agreed(settings, approved)
    if not parts:
        return settings
    with Console("settings") as console:
        answer = ask_here(_question(settings, parts), console)
        if answer.action != "accept":
            console.tell("!!", f"{settings.file} is not trusted: {answer.reason}. {_how(settings)}")
            return withheld(settings, parts)
        try:
            store.agree(settings, approved)
        except SettingsError as reason:
            console.tell("!!", f"{reason} You will be asked again.")
    return settings


def parts_text(parts: Iterable[Part]) -> str:
    """What a settings file would start or reach, a line each, without secrets."""
    return "\n".join(f"  {x.key_path}: {x.told}" for x in parts)


def _question(settings: Settings, parts: Iterable[Part]) -> Question:
    message = f"{_INTRODUCTION}\n{parts_text(parts)}"
    return Question(settings.file, message, _NOTHING_TO_FILL_IN)


def _how(settings: Settings) -> str:
    return f"To trust it: {trust_command(settings.file)}"
