"""Warm sources, which stay between two runs of a kernel.

When no run uses a bridge, its sources stay for as long as the settings say. The next run takes them
over, and only what has changed starts anew.
"""

from __future__ import annotations

import logging
from itertools import groupby

import anyio

from ...history.place import find_place
from ...policy.lockfile import find_lock
from ...settings.digest import digest_of
from ...settings.models import Settings
from ...sources.digest import KEY, digest_of_source
from ...sources.warm import WarmRoute
from ..context import OperationContext

logger = logging.getLogger(__name__)


class WarmOperations(OperationContext):
    """Sources between two runs. The caller knows that no run uses the bridge."""

    async def doubt(self) -> None:
        """Ping every server in the background, after a run that failed or was interrupted.

        The next request waits for the answer; without one the server is connected again.
        """
        for source in self.engine.pool.running().values():
            if features := source.features(self.caller):
                features.doubt()

    async def leave(self) -> bool:
        """End the sources that do not stay after a run; return whether others do.

        Sources that are not ready end too: the next run starts them again.
        """
        engine, settings = self.engine, self.engine.settings
        seconds = self._seconds()
        running = engine.pool.running().items()
        await engine.pool.stop_all(
            [name for name, x in running if not seconds[name] or x.state != "ready"]
        )
        for name in settings.added.copy():
            settings.added.remove(name)
            del settings.sources[name]
        return bool(engine.pool.running())

    async def rest(self) -> None:
        """End the staying sources, each when its time is over; return when none is left."""
        began, seconds = anyio.current_time(), self._seconds()
        limit_of = seconds.__getitem__
        for limit, names in groupby(sorted(seconds, key=limit_of), limit_of):
            await anyio.sleep_until(began + limit)
            await self.engine.pool.stop_all(names)

    async def renew(self, settings: Settings) -> bool:
        """Use the sources of these settings, as a new bridge would; unchanged ones go on.

        Return False, and do nothing, if these settings need a new bridge: more than sources
        changed, or another process keeps the servers.
        """
        engine, current = self.engine, self.engine.settings
        route = engine.route.place if engine.route else None
        before = current.beside_sources, engine.recorder.place, engine.lock, route
        route = WarmRoute(settings, logger.info).place
        after = settings.beside_sources, find_place(settings), find_lock(settings), route
        if digest_of(before, KEY) != digest_of(after, KEY):
            return False
        current.exchange_sources(settings)
        for name in current.sources:
            engine.breakers.reset(name)
        await engine.pool.stop_all([x for x in engine.pool.running() if not self._is_same(x)])
        return True

    def _seconds(self) -> dict[str, float]:
        """Return how long each running source stays after a run."""
        most, of_file = self.engine.settings.keep_warm_seconds, self.engine.settings.of_file
        seconds = dict.fromkeys(self.engine.pool.running(), 0.0)
        for name in seconds.keys() & of_file:
            own = of_file[name].keep_warm_seconds
            seconds[name] = most if own is None else min(own, most)
        return seconds

    def _is_same(self, name: str) -> bool:
        entry = self.engine.settings.sources.get(name)
        if entry is None or entry.disabled:
            return False
        return digest_of_source(entry) == self.engine.digests[name]
