"""What an agent says of itself: its card, read part by part, so that an odd part costs only itself.

Everything in it is data from the other side, and reaches a model: cleaned, and cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urljoin

from ...core.json import JsonObject, as_list, as_object, as_text

MOST_SKILLS = 500
"""Of one agent; a model could not choose among more, and no agent has as many."""

_MOST_INTERFACES = 20
_MOST_EXAMPLES = 3
_MAX_TITLE, _MAX_DESCRIPTION, _MAX_EXAMPLE = 100, 1_500, 200  # characters
_MAX_ID = 200  # characters; it is sent back to the agent
BINDINGS = ("JSONRPC", "HTTP+JSON")
"""How we can speak to an agent; gRPC is left out: it would need a second network stack."""

Clean = Callable[[str, int], str]
"""Gives a text of an agent in one line, without secrets or what nobody sees, and this long."""


class NotACard(Exception):
    """What was found is no card, or leads nowhere. `problem` and `fix` are for people."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix


@dataclass(frozen=True)
class Skill:
    """Something an agent says it can do. `id` is its own word for it, as it must be sent back."""

    id: str
    title: str
    description: str


@dataclass(frozen=True)
class Interface:
    """Where and how an agent is spoken to. `version` is that of the protocol, such as 1.0."""

    url: str
    binding: str
    version: str
    tenant: str = ""

    @property
    def is_old(self) -> bool:
        """Whether it speaks the protocol of before 1.0."""
        return self.version.startswith("0.")


@dataclass(frozen=True)
class Card:
    """An agent as it describes itself. Without skills it is one thing to ask."""

    title: str
    description: str
    skills: tuple[Skill, ...]
    interface: Interface
    streams: bool
    notes: tuple[str, ...]


def read_card(raw: Any, url: str, may_go_to: Callable[[str], bool], clean: Clean) -> Card:
    """The card that was found at `url`.

    Raises:
        NotACard: it is none, or has no interface that can be used.
    """
    if not isinstance(raw, dict):
        raise _not_one("it is no JSON object")
    card = cast(JsonObject, raw)
    if not isinstance(card.get("name"), str) or not ({"skills", "capabilities", "url"} & {*card}):
        raise _not_one("it has no `name`, or neither `skills` nor `capabilities`")
    interface, notes = _interface(list(_interfaces(card, url)), may_go_to)
    skills = tuple(_skills(as_list(card.get("skills")), clean, notes))
    return Card(
        clean(card["name"], _MAX_TITLE),
        clean(as_text(card.get("description")), _MAX_DESCRIPTION),
        skills,
        interface,
        as_object(card.get("capabilities")).get("streaming") is True,
        tuple(notes),
    )


def _not_one(why: str) -> NotACard:
    return NotACard(f"what is at its address is no agent card: {why}.",
                    "Write the address of an A2A agent as `url`, or that of its card.")  # fmt: skip


def _interfaces(card: JsonObject, url: str) -> Iterator[Interface]:
    """Those of the card, in its order: as 1.0 has them, else as 0.3 had them."""
    found = [as_object(x) for x in as_list(card.get("supportedInterfaces"))[:_MOST_INTERFACES]]
    for x in found:
        version = _version(x.get("protocolVersion"), "1.0")
        binding, tenant = as_text(x.get("protocolBinding")), as_text(x.get("tenant"))
        yield Interface(_address(url, x.get("url")), binding.upper(), version, tenant)
    if not found and as_text(card.get("url")):
        version = _version(card.get("protocolVersion"), "0.3.0")
        main = {"url": card["url"], "transport": card.get("preferredTransport") or "JSONRPC"}
        others = as_list(card.get("additionalInterfaces"))[:_MOST_INTERFACES]
        for x in map(as_object, [main, *others]):
            binding = as_text(x.get("transport")).upper()
            yield Interface(_address(url, x.get("url")), binding, version)


def _interface(
    found: list[Interface], may_go_to: Callable[[str], bool]
) -> tuple[Interface, list[str]]:
    """The one to use, and notes on those that are not allowed. The newest protocol goes first."""
    spoken = [x for x in found if x.url and x.binding in BINDINGS]
    if not spoken:
        raise NotACard(
            "its card names the address of no interface that we speak (JSONRPC or HTTP+JSON).",
            "Ask whoever runs the agent for one of these.",
        )
    allowed = [x for x in spoken if may_go_to(x.url)]
    if not allowed:
        raise Elsewhere(spoken[0].url)
    notes = [
        f"An interface of its card leads to another host and is not used: {x.url[:200]!a}."
        for x in spoken
        if x not in allowed
    ]
    return next((x for x in allowed if not x.is_old), allowed[0]), notes


class Elsewhere(Exception):
    """A card that wants calls sent to a place that the settings do not allow."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


def _skills(found: list[Any], clean: Clean, notes: list[str]) -> Iterator[Skill]:
    known: set[str] = set()
    for raw in map(as_object, found[:MOST_SKILLS]):
        named = as_text(raw.get("id")) or as_text(raw.get("name"))
        if not is_skill_id(named):
            notes.append("A skill without an id that could be used was left out.")
        elif named in known:
            notes.append(
                f"The skill {clean(named, _MAX_TITLE)!r} is listed twice; the first is used."
            )
        else:
            known.add(named)
            title = clean(as_text(raw.get("name")), _MAX_TITLE)
            yield Skill(named, title, _description(raw, clean))
    if len(found) > MOST_SKILLS:
        notes.append(
            f"It has {len(found):,} skills; those after the first {MOST_SKILLS} are left out."
        )


def _description(raw: JsonObject, clean: Clean) -> str:
    text = clean(as_text(raw.get("description")), _MAX_DESCRIPTION)
    examples = [clean(x, _MAX_EXAMPLE) for x in _texts(raw.get("examples"))[:_MOST_EXAMPLES]]
    shown = "; ".join(x for x in examples if x)
    return f"{text}\nFor example: {shown}".strip() if shown else text


def _version(written: Any, usual: str) -> str:
    text = as_text(written)
    return text if re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,2}", text) else usual


def _address(card: str, written: Any) -> str:
    """Where an interface is, seen from its card; empty where the card does not say."""
    try:
        return urljoin(card, as_text(written)) if as_text(written) else ""
    except ValueError:
        return ""


def is_skill_id(text: str) -> bool:
    """Whether an agent's own word for a skill can be sent back."""
    if not text.strip() or len(text) > _MAX_ID:
        return False
    return not any("\ud800" <= x <= "\udfff" for x in text)


def _texts(value: Any) -> list[str]:
    return [x for x in as_list(value) if isinstance(x, str)]
