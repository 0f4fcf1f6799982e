"""While much is read nothing is collected, and afterwards everything is as it was."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from xai_mcp_agent.sources.mcp.wire.garbage import uncollected


@pytest.fixture(autouse=True)
def _as_usual() -> Iterator[None]:
    """Whatever a test does to the collector is undone."""
    assert gc.isenabled()
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_within_the_block():
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_the_pause_too():
    with pytest.raises(ValueError, match="no JSON"), uncollected():
        raise ValueError("no JSON")
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled(), "the next one has its turn"


def test_what_was_made_is_old_afterwards_and_still_collected():
    with uncollected():
        one = _Circle()
    assert any(x is one for x in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


class _Circle:
    """Refers to itself, so that only the collector ends it."""

    def __init__(self) -> None:
        self.itself = self


def test_of_two_at_once_only_the_first_pauses():
    """Of blocks that overlap without end, nothing would ever be collected."""
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_somebody_switched_off_stays_off():
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


def test_what_somebody_froze_stays_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with uncollected():
        assert gc.isenabled()
    assert 0 < gc.get_freeze_count() <= frozen
