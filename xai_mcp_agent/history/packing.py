"""Many events of one moment in one row: a listing or a loss, and what it says of each tool."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from .event import Change, Event, Project, links_of, usual_kind, usual_payload, usual_teller
from .tables import kept_json

_DIGEST_CHARS = 32
_HEADS: tuple[Change, ...] = ("connected", "reconnected", "refreshed", "disconnected")
_GONE: Change = "unavailable"
_TOLD: tuple[Change, ...] = ("discovered", "confirmed", "changed", "returned", _GONE)
# Of fewer it takes less room to name them in the row. News of a listing are others each time.
_FEW, _FEW_NEWS = 3, 100


class Told(NamedTuple):
    """What a listing or a loss says of one tool."""

    change: Change
    tool: str
    definition: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Inventory:
    """Tools in their order, each with the digest of its definition ("" where it is not known)."""

    names: tuple[str, ...]
    definitions: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """The same for the same tools in the same order only."""
        text = kept_json([self.names, self.definitions])
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each tool is."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def is_sorted(self) -> bool:
        """Whether its order is that of the names."""
        return all(x < y for x, y in zip(self.names, self.names[1:], strict=False))


@dataclass(frozen=True)
class Bundle:
    """What one row tells of tools: by number, from 0 on.

    First those of an `inventory`, of which all are told the `change` and the `reason`, `but` some;
    `then` others.
    """

    inventory: Inventory | None = None
    change: Change = _GONE
    reason: str = ""
    but: Mapping[str, tuple[Change, str]] = field(default_factory=dict[str, tuple[Change, str]])
    then: tuple[Told, ...] = ()

    def __len__(self) -> int:
        """How many events it stands for."""
        return self._listed + len(self.then)

    def __getitem__(self, number: int) -> Told:
        """One of them."""
        if self.inventory is None or number >= self._listed:
            return self.then[number - self._listed]
        name = self.inventory.names[number]
        change, reason = self.but.get(name, (self.change, self.reason))
        definition = None if change == _GONE else self.inventory.definitions[number]
        return Told(change, name, definition, reason)

    @property
    def changes(self) -> set[Change]:
        """What it tells of one tool or another."""
        found = set[Change](x.change for x in self.then)
        found.update(change for change, _ in self.but.values())
        if self._listed > len(self.but):
            found.add(self.change)
        return found

    def numbers(self, tool: str | None = None, changes: Sequence[Change] = ()) -> Iterable[int]:
        """Which of them are about a tool, and tell one of these changes; in their order."""
        if tool is None and not changes:
            return range(len(self))
        if tool is None and self.change not in changes:
            found = self.special()
        else:
            found = range(len(self)) if tool is None else self._of(tool)
        return [x for x in found if not changes or self[x].change in changes]

    def special(self) -> list[int]:
        """Those that are not told what all of the inventory are."""
        then = range(self._listed, len(self))
        if self.inventory is None:
            return [*then]
        return [*sorted(map(self.inventory.places.__getitem__, self.but)), *then]

    def as_json(self) -> str | None:
        """All but the inventory and the reason, which are beside it."""
        value: dict[str, Any] = {}
        if self.inventory is not None:
            value["all"] = self.change
        if self.but:
            value["but"] = {name: list(_short(x)) for name, x in self.but.items()}
        if self.then:
            value["then"] = [list(_short(x)) for x in self.then]
        return kept_json(value)

    @property
    def _listed(self) -> int:
        return 0 if self.inventory is None else len(self.inventory.names)

    def _of(self, tool: str) -> list[int]:
        place = None if self.inventory is None else self.inventory.places.get(tool)
        found = [] if place is None else [place]
        return found + [self._listed + n for n, x in enumerate(self.then) if x.tool == tool]


def bundle_from(value: Any, inventory: Inventory | None, reason: str) -> Bundle:
    """The bundle that was written so.

    Without its inventory, which was lost, or where it is damaged, nothing is told.
    """
    try:
        if "all" in value and inventory is None:
            return Bundle()
        but = {name: (x[0], x[1] if len(x) > 1 else "") for name, x in value.get("but", {}).items()}
        then = tuple(Told(*x) for x in value.get("then", ()))
        usual: Change = value.get("all", _GONE)
    except (AttributeError, IndexError, TypeError):
        return Bundle()
    is_known = {usual, *(x[0] for x in but.values()), *(x.change for x in then)} <= {*_TOLD}
    if not is_known or not but.keys() <= (inventory.places.keys() if inventory else set()):
        return Bundle()
    return Bundle(inventory, usual, reason, but, then)


def bundled(
    head: Event, tools: Sequence[Event], definition_of: Callable[[Event], str]
) -> Bundle | None:
    """What `tools` say of theirs, in short; None without any.

    `definition_of` tells what was known of a tool that is told to be gone.
    """
    if not tools:
        return None
    told = [Told(x.change, x.subject.tool or "", x.definition, x.reason) for x in tools]
    listed = _listed(head, told)
    if listed < (_FEW_NEWS if head.change == "refreshed" else _FEW):
        return Bundle(then=tuple(told), reason=head.reason)
    digests = [x.definition or definition_of(y) for x, y in zip(told[:listed], tools, strict=False)]
    inventory = Inventory(tuple(x.tool for x in told[:listed]), tuple(digests))
    ((usual, _),) = Counter[Change](x.change for x in told[:listed]).most_common(1)
    special = [x for x in told[:listed] if (x.change, x.reason) != (usual, head.reason)]
    but = dict[str, tuple[Change, str]]((x.tool, (x.change, x.reason)) for x in special)
    return Bundle(inventory, usual, head.reason, but, tuple(told[listed:]))


def grouped(events: Iterable[Event], project: Project) -> Iterator[tuple[Event, list[Event]]]:
    """Each event with those behind it that one row can tell along with it."""
    head, tools = None, list[Event]()
    for event in events:
        if head is not None and _belongs(event, head, project):
            tools.append(event)
            continue
        if head is not None:
            yield head, tools
        head, tools = event, []
    if head is not None:
        yield head, tools


def _belongs(event: Event, head: Event, project: Project) -> bool:
    subject, change = event.subject, event.change
    if subject.tool is None or head.change not in _HEADS or change not in _TOLD:
        return False
    if (head.subject, head.time, head.run) != (subject.anchor, event.time, event.run):
        return False
    if (event.event_kind, event.source) != (usual_kind(change), usual_teller(change)):
        return False
    is_gone = change == _GONE
    if bool(event.definition) == is_gone or (is_gone and event.payload != usual_payload(change)):
        return False
    return event.links == links_of(change, subject, project)


def _listed(head: Event, told: Sequence[Told]) -> int:
    """How many of the first are those of an inventory: each named once, and there if listed."""
    seen: set[str] = set()
    for number, one in enumerate(told):
        if one.tool in seen or (one.change == _GONE) != (head.change == "disconnected"):
            return number
        seen.add(one.tool)
    return len(told)


def _short(values: Sequence[Any]) -> Sequence[Any]:
    """Without what is empty at the end."""
    last = len(values)
    while last and not values[last - 1]:
        last -= 1
    return values[:last]
