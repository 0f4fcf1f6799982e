"""What was decided about tools: which are switched off, and what the pinned ones are held to.

A value, and the question to the history that it answers. Others see to it that it is honoured.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...core.tools import JsonObject, ToolKey

if TYPE_CHECKING:
    from ...history.store import Store
    from ...history.subject import Subject


@dataclass(frozen=True, slots=True)
class Accepted:
    """The definition that pinned calls of a tool are held to: its digest, and itself.

    `definition` has its secrets masked; it is None where the store has lost it.
    """

    digest: str
    definition: JsonObject | None


@dataclass(frozen=True, slots=True)
class Standing:
    """How tools stand with the people who use them. A tool of which it says nothing is as it is."""

    disabled: frozenset[ToolKey] = frozenset()
    accepted: Mapping[ToolKey, Accepted] = field(default_factory=dict[ToolKey, Accepted])

    def switched(self, key: ToolKey, *, is_enabled: bool) -> Standing:
        """The same, with one tool switched on or off."""
        disabled = self.disabled - {key} if is_enabled else self.disabled | {key}
        return replace(self, disabled=disabled)

    def accepting(self, key: ToolKey, accepted: Accepted) -> Standing:
        """The same, with another definition of a tool accepted."""
        return replace(self, accepted={**self.accepted, key: accepted})

    def renewed(self, sources: Collection[str], fresh: Standing) -> Standing:
        """The same, with what was read for some sources.

        What was accepted and could not be written down yet stays.
        """
        others = {x for x in self.disabled if x.source not in sources}
        return Standing(fresh.disabled | others, {**self.accepted, **fresh.accepted})


@dataclass(frozen=True, slots=True)
class Kept:
    """A tool that the history knows. `listed` is its definition as its source listed it last."""

    name: str
    subjects: tuple[Subject, ...]
    listed: Accepted | None


def standing_of(store: Store, sources: Collection[str]) -> Standing:
    """What was decided about the tools of some sources, also of those that are not there now.

    Raises:
        StoreFailed: the store.
    """
    # In the clerk's thread: SQLAlchemy takes a while.
    from ..records.projection import Projection

    with store.reading() as connection:
        projection = Projection(connection, store.project_id)
        decided = [(ToolKey(x.subject.source, x.name), x) for x in projection.decided(sources)]
        accepted = {key: x.accepted for key, x in decided if x.accepted}
        bodies = projection.definitions(accepted.values())
        return Standing(
            frozenset(key for key, x in decided if not x.is_enabled),
            {key: Accepted(digest, bodies.get(digest)) for key, digest in accepted.items()},
        )


def kept_tools(store: Store, source: str, wanted: Collection[str]) -> list[Kept]:
    """All tools a source has or had.

    Definitions are read of those that are `wanted`, and of those that have changed since they
    were accepted.

    Raises:
        StoreFailed: the store.
    """
    from ..records.projection import Projection

    with store.reading() as connection:
        projection = Projection(connection, store.project_id)
        records = projection.tools_of(source)
        bodies = projection.definitions(
            x.definition
            for x in records
            if x.name in wanted or x.accepted not in ("", x.definition)
        )
    kept: dict[str, Kept] = {}
    for x in records:
        listed = Accepted(x.definition, bodies.get(x.definition)) if x.definition else None
        same_name = kept[x.name].subjects if x.name in kept else ()
        kept[x.name] = Kept(x.name, (*same_name, x.subject), listed)
    return list(kept.values())
