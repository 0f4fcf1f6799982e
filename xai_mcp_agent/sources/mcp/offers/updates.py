"""Who wants to hear of what changes at one server.

It outlives the server's connections: each of them subscribes anew to what is wanted
(`subscriptions.py`), and then everything counts as changed, because nothing is replayed.
"""

from __future__ import annotations

import logging

import anyio

from ...base import LISTS, OnUpdate

logger = logging.getLogger(__name__)

# Updates of the same thing this close together are told as one.
_BURST_SECONDS = 0.05
# What may stand between the URI that was asked for and the rest of one below it.
_BORDERS = ("/", "?", "#")


class Updates:
    """One server's listeners, by what they listen to: a resource's URI, or the name of a list."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[OnUpdate]] = {}
        self._changed: dict[str, None] = {}  # in their order
        self._something_changed = anyio.Event()

    @property
    def are_wanted(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    @property
    def uris(self) -> list[str]:
        """The resources that somebody listens to."""
        return [x for x in self._listeners if x not in LISTS]

    def add(self, what: str, tell: OnUpdate) -> None:
        """Tell this listener of changes from now on. It is called on the loop."""
        self._listeners.setdefault(what, []).append(tell)

    def remove(self, what: str, tell: OnUpdate) -> bool:
        """Do not tell it any more; whether it was the last one there."""
        listeners = self._listeners.get(what, [])
        if tell in listeners:
            listeners.remove(tell)
        if listeners or what not in self._listeners:
            return False
        del self._listeners[what]
        return True

    def notice(self, what: str) -> None:
        """Something changed. Called for each notice, so it is quick and may be called often.

        A server may tell of a resource below the one that was asked for.
        """
        for wanted in self._listeners:
            if _is_at_or_below(what, wanted):
                self._changed[wanted] = None
                self._something_changed.set()

    async def deliver(self) -> None:
        """Tell the listeners, for ever."""
        while True:
            await self._something_changed.wait()
            await anyio.sleep(_BURST_SECONDS)
            changed, self._changed = self._changed, {}
            self._something_changed = anyio.Event()
            for what in changed:
                for tell in list(self._listeners.get(what, ())):
                    _call(tell, what)


def _is_at_or_below(noticed: str, wanted: str) -> bool:
    if noticed == wanted:
        return True
    if wanted in LISTS or not noticed.startswith(wanted):
        return False
    return wanted.endswith(_BORDERS) or noticed[len(wanted)] in _BORDERS


def _call(tell: OnUpdate, what: str) -> None:
    try:
        tell(what)
    except Exception:
        # Somebody's program: what it does wrong must not end the connection.
        logger.exception("A listener for changes of %s raised", what)
