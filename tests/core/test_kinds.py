"""The kinds of sources, found again by the names that a history has of them."""

from __future__ import annotations

from xai_mcp_agent.core import tools
from xai_mcp_agent.core.tools import SourceKind, kind_named


def test_every_kind_is_read_from_a_history_as_it_was_written():
    """The ids of its tools hang on whether it connects."""
    ours = [x for x in vars(tools).values() if isinstance(x, SourceKind)]
    assert len(ours) >= 3
    assert all(kind_named(kind.name) is kind for kind in ours)


def test_a_kind_that_is_not_known_here_has_sources_that_connect():
    assert kind_named("planet") == SourceKind("planet")
    assert kind_named("planet").connects
