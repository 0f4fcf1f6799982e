"""Reads the card of an agent, and parses it again only when it changes.

Its texts are untrusted and reach a model, so they are cleaned and cut. Invalid parts are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from ...core.json import JsonObject, as_list, as_object, as_text, as_texts, is_object

if TYPE_CHECKING:
    from .http import AgentHttp

# The path of the card now, and before 0.3.
_WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_NOT_THERE = (404, 405, 410)
_BINDINGS = ("JSONRPC", "HTTP+JSON")  # gRPC would need a second network stack
_MOST_SKILLS = 500  # more than any known agent has, and than a model can choose from
_MOST_INTERFACES, _MOST_EXAMPLES = 20, 3
_MAX_TITLE, _MAX_DESCRIPTION, _MAX_EXAMPLE, _MAX_ID = 100, 1_500, 200, 200  # characters


@dataclass(frozen=True)
class Skill:
    """Something an agent can do. `id` must be sent back exactly."""

    id: str
    title: str
    description: str


@dataclass(frozen=True)
class Interface:
    """An address and a binding of an agent. `version` is the protocol's, such as 1.0."""

    url: str
    binding: str
    version: str
    tenant: str = ""

    @property
    def is_old(self) -> bool:
        """Whether it speaks the protocol before 1.0."""
        return self.version.startswith("0.")


@dataclass(frozen=True)
class Card:
    """An agent as it describes itself."""

    title: str
    description: str
    skills: tuple[Skill, ...]
    interface: Interface
    streams: bool
    notes: tuple[str, ...]


class CardReader:
    """Reads the card of the agent at `url`, which may be the address of the card itself."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        path = parts.path.rstrip("/")
        well_known = (urlunsplit((*parts[:2], path + x, parts.query, "")) for x in _WELL_KNOWN)
        self._places = (url,) if path.endswith(".json") else tuple(well_known)
        self._body = b""
        self._card: Card | None = None

    async def read(self, http: AgentHttp) -> Card:
        """Return the current card; the same object if it has not changed.

        Raises:
            SourceError: there is no card, or no usable one.
        """
        for place in self._places:
            response = await http.send("GET", place, {"accept": "application/json"})
            body, status = await http.body(response), response.status_code
            if self._card is not None and body == self._body:
                return self._card
            if status < 400:
                self._card = await http.parse(body, partial(read_card, place, http))
                self._body, self._places = body, (place,)
                return self._card
            if status not in _NOT_THERE or place == self._places[-1]:
                if status != 404:
                    raise http.status_error(status, body)
                fix = "Correct `url`, or write the address of the card itself."
                raise http.failure("there is no agent card at its address (HTTP 404).", fix)
        raise AssertionError("there is at least one place")


def read_card(url: str, http: AgentHttp, raw: Any) -> Card:
    """Return the card in the JSON at `url`.

    Raises:
        SourceFailed: it is not a card, or has no usable interface.
    """
    is_card = is_object(raw) and isinstance(raw.get("name"), str)
    if not is_card or not ({"skills", "capabilities", "url"} & {*as_object(raw)}):
        why = "it is not an object"
        if is_object(raw):
            why = "it has no `name`, or neither `skills` nor `capabilities`"
        raise http.failure(
            f"the document at its address is not an agent card: {why}.",
            "Write the address of an A2A agent as `url`, or that of its card.",
        )
    card, clean = as_object(raw), http.words
    interface, notes = _interface(card, url, http)
    skills = tuple(_skills(as_list(card.get("skills")), http, notes))
    return Card(
        clean(card["name"], _MAX_TITLE),
        clean(as_text(card.get("description")), _MAX_DESCRIPTION),
        skills,
        interface,
        as_object(card.get("capabilities")).get("streaming") is True,
        tuple(notes),
    )


def _interface(card: JsonObject, url: str, http: AgentHttp) -> tuple[Interface, list[str]]:
    """Return the interface to use, the newest protocol first, and notes on forbidden ones."""
    supported = [x for x in _interfaces(card, url) if x.url and x.binding in _BINDINGS]
    if not supported:
        raise http.failure(
            "its card has no interface with an address that we support (JSONRPC or HTTP+JSON).",
            "Ask whoever runs the agent to offer one of them.",
        )
    allowed = [x for x in supported if http.may_go_to(x.url)]
    if not allowed:
        raise http.place_error(supported[0].url)
    notes = [
        f"An interface in its card is on another host and is not used: {x.url[:200]!a}."
        for x in supported
        if x not in allowed
    ]
    return next((x for x in allowed if not x.is_old), allowed[0]), notes


def _interfaces(card: JsonObject, url: str) -> Iterator[Interface]:
    """Yield the interfaces of a card in its order: those of 1.0, or else those of 0.3."""
    listed = as_list(card.get("supportedInterfaces"))
    for x in map(as_object, listed[:_MOST_INTERFACES]):
        version = _version(x.get("protocolVersion"), "1.0")
        binding, tenant = as_text(x.get("protocolBinding")), as_text(x.get("tenant"))
        yield Interface(_address(url, x.get("url")), binding.upper(), version, tenant)
    if not listed and as_text(card.get("url")):
        version = _version(card.get("protocolVersion"), "0.3.0")
        main = {"url": card["url"], "transport": card.get("preferredTransport") or "JSONRPC"}
        others = as_list(card.get("additionalInterfaces"))[:_MOST_INTERFACES]
        for x in map(as_object, [main, *others]):
            binding = as_text(x.get("transport")).upper()
            yield Interface(_address(url, x.get("url")), binding, version)


def _skills(listed: list[Any], http: AgentHttp, notes: list[str]) -> Iterator[Skill]:
    clean, ids = http.words, set[str]()
    for raw in map(as_object, listed[:_MOST_SKILLS]):
        skill_id = as_text(raw.get("id")) or as_text(raw.get("name"))
        if not skill_id.strip() or len(skill_id) > _MAX_ID or _HALF.search(skill_id):
            notes.append("A skill without a usable id was left out.")
        elif skill_id in ids:
            example_text = clean(skill_id, _MAX_TITLE)
            notes.append(f"The skill {example_text!r} is listed twice; the first is used.")
        else:
            ids.add(skill_id)
            text = clean(as_text(raw.get("description")), _MAX_DESCRIPTION)
            examples = as_texts(raw.get("examples"))[:_MOST_EXAMPLES]
            example_text = "; ".join(filter(None, (clean(x, _MAX_EXAMPLE) for x in examples)))
            text = f"{text}\nFor example: {example_text}".strip() if example_text else text
            yield Skill(skill_id, clean(as_text(raw.get("name")), _MAX_TITLE), text)
    if len(listed) > _MOST_SKILLS:
        notes.append(
            f"It has {len(listed):,} skills; those after the first {_MOST_SKILLS} are left out."
        )


_HALF = re.compile("[\ud800-\udfff]")  # of a character, which no request can hold


def _version(value: Any, default: str) -> str:
    text = as_text(value)
    return text if re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,2}", text) else default


def _address(card: str, value: Any) -> str:
    """Return the absolute address of an interface; empty if the card has none."""
    try:
        return urljoin(card, as_text(value)) if as_text(value) else ""
    except ValueError:
        return ""
