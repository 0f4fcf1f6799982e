"""Tool records in memory: the newest that were told of, by source."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.kinds import kind_named
from ..core.tools import ToolKey
from ..history.event import Subject
from ..history.recording.reports import RecordUpdate
from ..history.records import ToolRecord

_MOST_GONE = 1000  # of a source's tools that are not there any more

_Records = dict[Subject, ToolRecord]


class ToolRecords:
    """The newest records that were told of."""

    def __init__(self) -> None:
        self._kept: dict[Subject, _Records] = {}  # by source

    def get(self, key: ToolKey) -> ToolRecord | None:
        """What is known of a tool."""
        subject = Subject(kind_named(key.kind), key.source, key.name)
        return self._kept.get(subject.anchor, {}).get(subject)

    def of(self, source: str) -> Iterator[ToolRecord]:
        """What is known of the tools of a source."""
        for records in [x for anchor, x in self._kept.items() if anchor.source == source]:
            yield from records.values()

    def take(self, update: RecordUpdate) -> None:
        """Take newer records in."""
        for source, records in update.tools.items():
            if source in update.whole:
                self._kept[source] = dict(records)
            else:
                self._kept.setdefault(source, {}).update(records)
            if not update.is_asked:  # else somebody wants to know them all
                _forget_gone(self._kept[source])


def _forget_gone(known: _Records) -> None:
    """Tools may come and go for days; all of them are in the history."""
    if len(known) > _MOST_GONE:
        gone = [k for k, x in known.items() if not x.is_available]
        for subject in gone[:-_MOST_GONE]:
            del known[subject]
