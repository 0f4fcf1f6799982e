"""An event as a row of the log, and what a row tells as an event again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from ..core.json import JsonObject
from ..core.tools import kind_named
from .event import (
    Change,
    Event,
    Links,
    Project,
    Subject,
    links_of,
    tool_payload,
    usual_kind,
    usual_payload,
    usual_teller,
)
from .packing import Bundle
from .tables import kept_json, kept_moment, kept_words
from .use import Use, names_in, without_names

_LINKS = tuple(field.name for field in fields(Links))
_CALLED: Change = "called"
_MADE: tuple[Change, ...] = ("called", "begun", "refused")  # by somebody


@lru_cache(maxsize=20_000)  # a history is long because the same things happen again and again
def subject_of(kind: str, source: str, tool: str | None) -> Subject:
    """The subject that these names are of."""
    return Subject(kind_named(kind), source, tool)


def row_of(
    project: int,
    position: int,
    event: Event,
    bundle: Bundle | None,
    numbers: Mapping[Subject, int],
    known_runs: Mapping[str, int],
    whose: Project,
) -> tuple[Any, ...]:
    """A row of the log, in the order of the columns; without its caller, which is the last."""
    subject, change = event.subject, event.change
    seconds, payload = _kept_payload(event)
    is_usual = event.links == links_of(change, subject, whose)
    return (
        project,
        position,
        kept_moment(event.time),
        known_runs[event.run],
        change,
        numbers[subject],
        numbers[subject.anchor],
        1 if bundle is None else 1 + len(bundle),
        seconds,
        payload,
        event.definition,
        kept_words(event.reason) if event.reason else None,
        None if bundle is None or bundle.inventory is None else bundle.inventory.digest,
        None if bundle is None else bundle.as_json(),
        None if is_usual else _kept_links(event.links),
        None if event.event_kind == usual_kind(change) else event.event_kind,
        None if event.source == usual_teller(change) else event.source,
    )


def payload_of(change: Change, seconds: float | None, kept: JsonObject | None) -> JsonObject:
    """What an event says, of what is kept of it."""
    if seconds is not None:
        more = kept or {}
        return {"status": "error" if "error" in more else "ok", "seconds": seconds, **more}
    return usual_payload(change) if kept is None else kept


def _kept_payload(event: Event) -> tuple[float | None, str | None]:
    """How long a call took, and what else has to be written to have the payload again."""
    payload = without_names(event.payload) if event.change in _MADE else event.payload
    if is_told_by_definition(event) or payload == usual_payload(event.change):
        return None, None
    seconds = payload.get("seconds")
    status = "error" if "error" in payload else "ok"
    is_call = event.change == _CALLED and payload.get("status") == status
    if not is_call or not isinstance(seconds, float) or not math.isfinite(seconds):
        return None, kept_json(payload)
    more = {"error": payload["error"]} if "error" in payload else {}  # the first, see `IS_FAILED`
    more |= {name: x for name, x in payload.items() if name not in ("status", "seconds")}
    return seconds, kept_json(more) if more else None


def is_told_by_definition(event: Event) -> bool:
    """Whether its payload need not be kept, because it can be made anew."""
    is_tool = event.subject.tool is not None
    return is_tool and event.event_kind == "fact" and bool(event.definition)


def with_definition(event: Event, known: Mapping[str, JsonObject]) -> Event:
    """With what its definition tells, if that is how it was kept; `known` are those by digest."""
    if not is_told_by_definition(event):
        return event
    definition = known.get(event.definition or "")
    if definition is None:  # it was lost, as by a damaged file
        return event
    told = tool_payload(definition["name"], definition["description"], definition["input_schema"])
    return replace(event, payload=told)


@lru_cache(maxsize=1000)
def _kept_links(links: Links) -> str:
    return kept_json({name: getattr(links, name) for name in _LINKS if getattr(links, name)})


def links_in(kept: JsonObject | None, change: Change, subject: Subject, whose: Project) -> Links:
    """The links that an event of this subject has, of what is kept of them."""
    if kept is None:
        return links_of(change, subject, whose)
    return Links(**{name: tuple(ids) for name, ids in kept.items()})


def names_of_caller(event: Event) -> Use:
    """Who made the call that it is about; empty where it is about something else."""
    return names_in(event.payload) if event.change in _MADE else ()
