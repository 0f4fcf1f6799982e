"""Reports to the writer thread, digests of listings, and the record updates it publishes.

A report that does not depend on the state is an event already: a decision, an answer, a failure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from ...core.results import Prompt, Resource
from ...core.tools import (
    ItemKey,
    SourceKind,
    Tool,
    definition_text,
    digest_of,
    inventory_digest,
    item_key,
)
from ..event import Event, Subject, Teller, usual_payload
from ..records import ToolRecord
from .call_journal import CallerFields, CallReport


@dataclass(frozen=True, slots=True)
class Listed:
    """A source listed its tools: right after it connected, or again.

    With `is_forced` every tool is recorded, even without changes. `disabled` are names that the
    settings exclude. `features` are its prompts and resources.
    """

    source: Subject
    time: datetime
    tools: tuple[Tool, ...]
    transport: str = ""
    title: str = ""
    is_forced: bool = False
    disabled: tuple[str, ...] = ()
    features: tuple[Prompt | Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A run closed a source, or lost it; `reason` says why."""

    source: Subject
    time: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Seeded:
    """Tools that exist from the start, one of each name."""

    kind: SourceKind
    time: datetime
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """A tool was useful for requests with these texts, for the search of a toolbelt."""

    tool: Subject
    time: datetime
    toolbelt: str
    texts: tuple[str, ...] = field(repr=False)


Report: TypeAlias = Listed | Lost | Seeded | Learned | CallReport | Event


def failure_event(source: Subject, time: datetime, problem: str) -> Event:
    """Return the event of a source that could not be reached or listed."""
    return Event(source, "failed", time, {"status": "failed", "error": problem}, reason=problem)


def decision_event(
    tool: Subject,
    time: datetime,
    decision: Literal["enabled", "disabled", "accepted", "withdrawn"],
    definition: str = "",
    teller: Teller = "user",
) -> Event:
    """Return the event of a decision about a tool. `accepted` goes with a definition's digest.

    It may also be about a source, for its instructions. The teller is the `executor` if the first
    listing of a source was accepted as a whole. The history only records decisions:
    `policy.decisions` has those in force.
    """
    return Event(tool, decision, time, definition=definition or None, teller=teller)


def refusal_event(
    tool: Subject, time: datetime, reason: str, definition: str = "", by: CallerFields = ()
) -> Event:
    """Return the event of a call that people's decisions prevented; `reason` says why.

    `definition` is the digest of the tool's current definition, if that is the reason. `by` is the
    caller.
    """
    payload = usual_payload("refused") | dict(by)
    return Event(tool, "refused", time, payload, definition=definition or None, reason=reason)


@dataclass(frozen=True, slots=True)
class ListingDigest:
    """Tools by their keys, each with the digest of its definition.

    `texts` are the definitions, by digest, that the listing before did not have.
    """

    tools: Mapping[ItemKey, Tool]
    digests: Mapping[ItemKey, str]
    texts: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def inventory(self) -> str:
        """Return the digest of the whole listing."""
        return inventory_digest(self.digests.values())


def digest_listing(tools: Iterable[Tool], before: ListingDigest | None) -> ListingDigest:
    """Return the digests of a listing; unchanged tools keep theirs."""
    by_key = {item_key(tool): tool for tool in tools}
    digests: dict[ItemKey, str] = {}
    texts: dict[str, str] = {}
    for key, tool in by_key.items():
        if before is not None and is_same(tool, before.tools.get(key)):
            digests[key] = before.digests[key]
        else:
            text = definition_text(tool)
            digests[key] = digest_of(text)
            texts[digests[key]] = text
    return ListingDigest(by_key, digests, texts)


def is_same(tool: Tool, before: Tool | None) -> bool:
    """Return whether tools are certainly equal: Python's `==` ignores that JSON's 1 is not 1.0.

    A session returns the same objects for unchanged schemas.
    """
    return tool is before or (
        before is not None
        and tool.input_schema is before.input_schema
        and tool.output_schema is before.output_schema
        and tool == before
    )


@dataclass(frozen=True, slots=True)
class RecordUpdate:
    """Records of tools after a transaction, by the sources they belong to.

    A source in `complete` has no other records. `listed` has the listings of sources. A caller
    asked for the records if `was_requested`.
    """

    tools: Mapping[Subject, Mapping[Subject, ToolRecord]]
    complete: Collection[Subject] = ()
    listed: Mapping[Subject, ListingDigest] = field(default_factory=dict[Subject, ListingDigest])
    was_requested: bool = False
