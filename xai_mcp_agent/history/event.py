"""One event of the history: what happened to a tool or a source, and to which it is linked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from ..core.tools import JsonObject
from .subject import Subject

Change: TypeAlias = Literal[
    # Of a source.
    "connected",
    "reconnected",
    "refreshed",
    "left",
    "disconnected",
    "failed",
    # Of a tool.
    "seeded",
    "discovered",
    "confirmed",
    "changed",
    "returned",
    "unavailable",
    "called",
    "enabled",
    "disabled",
    "accepted",
]
"""refreshed: it listed its tools again. left: one of several runs let go of it, and others have it
still. failed: it could not be reached or listed. seeded: there from the start. confirmed: there,
and as it was. returned: it had vanished from the listing, and is there again as it was. accepted:
the definition that pinned calls are held to, by first use or by a person's word."""

EventKind: TypeAlias = Literal["fact", "action", "decision"]
Teller: TypeAlias = Literal["validator", "executor", "user"]
"""Who says so: what was found out, what ran, and what a person decided."""


@dataclass(frozen=True, slots=True)
class Links:
    """Context ids to which an event is linked.

    `extends` is what its subject hangs on. `reinforces`: what was known is confirmed by fresh
    evidence. `contradicts`: it is no longer true.
    """

    extends: tuple[str, ...] = ()
    related_to: tuple[str, ...] = ()
    reinforces: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()

    def as_json(self) -> dict[str, list[str]]:
        """All of them, also where there are none."""
        return {
            "extends": list(self.extends),
            "related_to": list(self.related_to),
            "reinforces": list(self.reinforces),
            "contradicts": list(self.contradicts),
        }


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Never changed once it is written.

    `payload` is as spec 2 gives it; `definition` is the digest of all that the source said of the
    tool. `run` is the process that saw it. `reason` says why, for a person. `position` is given
    by the log: the events of a project are ordered by it, from 1 on.
    """

    subject: Subject
    change: Change
    time: datetime
    payload: JsonObject = field(default_factory=dict[str, object])
    links: Links = field(default_factory=Links)
    definition: str | None = None
    reason: str = ""
    run: str = ""
    position: int = 0
    event_kind: EventKind = "fact"
    source: Teller = "validator"

    @property
    def context_id(self) -> str:
        """The id of what it is about."""
        return self.subject.context_id

    def as_json(self) -> JsonObject:
        """Every field, the links beside them, and what it is about as names."""
        return {
            "position": self.position,
            "time": self.time.astimezone(UTC).isoformat(),
            "context_id": self.context_id,
            "event_kind": self.event_kind,
            "source": self.source,
            "change": self.change,
            "payload": self.payload,
            **self.links.as_json(),
            "kind": self.subject.kind.name,
            "tool_source": self.subject.source,
            "tool": self.subject.tool,
            "definition": self.definition,
            "reason": self.reason,
            "run": self.run,
        }


def tool_payload(name: str, description: str, input_schema: JsonObject) -> JsonObject:
    """What spec 2 tells of a tool."""
    return {"name": name, "description": description, "parameters": input_schema}
