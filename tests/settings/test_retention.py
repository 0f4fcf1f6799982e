"""How long the history is kept, as a person writes it: `history` in the settings."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent import settings_from
from xai_mcp_agent.settings.sections import Retention


@pytest.mark.parametrize(
    ("written", "days", "megabytes"),
    [
        (None, 400, 200),
        ({}, 400, 200),
        ({"keep": 30}, 30, 200),
        ({"keep": None, "max_mb": 0.5}, None, 0.5),
        ({"max_mb": None}, 400, None),
    ],
)
def test_each_limit_has_a_default_and_may_be_none(
    written: Any, days: float | None, megabytes: float | None
):
    read = settings_from({"mcpServers": {}, **({} if written is None else {"history": written})})
    assert read.retention == Retention(days, megabytes)
    assert read.notes == ()


@pytest.mark.parametrize(
    ("written", "note"),
    [
        (30, "history: must be an object, but is a number."),
        ({"keep": 0}, "history.keep: must be more than 0."),
        ({"keep": True}, "history.keep: must be a number, but is true or false."),
        ({"max_mb": "200"}, "history.max_mb: must be a number, but is a text."),
        ({"keeps": 3}, "history.keeps: unknown key, ignored."),
    ],
)
def test_what_is_wrong_is_a_note_and_the_default_counts(written: Any, note: str):
    read = settings_from({"mcpServers": {}, "history": written})
    assert read.retention == Retention()
    assert any(note in x for x in read.notes), read.notes
