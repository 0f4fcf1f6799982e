"""What sources say that a person should read: looked for in a thread, once for what they say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import anyio.to_thread

from ..core.events import Inventory

if TYPE_CHECKING:
    from ..policy.suspicion import Mark


class KeptMarks:
    """The marks of what was looked through last."""

    def __init__(self) -> None:
        self._seen: Mapping[str, Inventory] = {}
        self._marks: list[Mark] = []

    async def of(
        self, inventories: Mapping[str, Inventory], sources: Collection[str]
    ) -> list[Mark]:
        """What is odd in what these sources say, or all of them if none is named."""
        if not _are_same(inventories, self._seen):
            # Here: it makes dozens of patterns, and most programs never ask.
            from ..policy.suspicion import marks_of

            # Thousands of tools take a second.
            self._marks = await anyio.to_thread.run_sync(marks_of, inventories)
            self._seen = inventories
        return [x for x in self._marks if not sources or x.source in sources]


def _are_same(now: Mapping[str, Inventory], before: Mapping[str, Inventory]) -> bool:
    return now.keys() == before.keys() and all(
        x.tools is before[name].tools and x.instructions == before[name].instructions
        for name, x in now.items()
    )
