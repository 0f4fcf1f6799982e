"""docs/history.md has every field and change of an event, and the right limit of errors."""

from __future__ import annotations

import re
from datetime import datetime
from typing import get_args

from tests.support.pages import ROOT, codes_of, rows_of, text_of
from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.event import Change, EventKind, Teller
from xai_mcp_agent.history.recording.recorder import ERROR_CHARS
from xai_mcp_agent.views.history import event_json

PAGE = ROOT / "docs" / "history.md"


def test_every_field_of_an_event_is_on_the_page():
    documented = [x for row in rows_of(PAGE) if "field" in row.cells for x in row.codes("field")]
    event = Event(Subject(MCP, "library"), "connected", datetime.now().astimezone())
    assert sorted(documented) == sorted(event_json(event))


def test_every_change_kind_and_teller_is_on_the_page():
    names = {*get_args(Change), *get_args(EventKind), *get_args(Teller)}
    assert names - {*codes_of(PAGE)} == set()


def test_the_length_of_a_recorded_error_on_the_page_is_right():
    assert re.search(rf"first {ERROR_CHARS} characters of the error", text_of(PAGE))
