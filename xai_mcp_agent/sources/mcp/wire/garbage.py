"""Python's collector of garbage, kept out of the way while very much is read.

It looks at all there is again each time there is a quarter more of it, and holds the interpreter
meanwhile: for a result of some hundred thousand objects several times, a tenth of a second each.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

# Python 3.12 freezes a few hundred objects at its start; who does it later freezes all there are.
_FROZEN_BY_PYTHON = 1000
# One at a time: of blocks that overlap without end, nothing would ever be collected.
_one_pause = threading.Lock()


@contextmanager
def uncollected() -> Generator[None]:
    """Collect nothing within the block; what was made in it counts as old from then on.

    So it is looked at again when old objects are, which is seldom. Where somebody has taken the
    collector in hand, switched off or with objects frozen, it stays as it is.
    """
    is_taken = not gc.isenabled() or gc.get_freeze_count() > _FROZEN_BY_PYTHON
    if is_taken or not _one_pause.acquire(blocking=False):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        # Frozen and thawed, objects are the oldest there are, without any of them being looked at.
        gc.freeze()
        gc.unfreeze()
        gc.enable()
        _one_pause.release()
