"""Agents of others in the settings: the section `agents`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, UnknownServer, settings_from
from xai_mcp_agent.core.tools import AGENT, MCP
from xai_mcp_agent.settings.sources import AgentSettings

FOLDER = Path("/srv/project")
URL = {"url": "https://example.org/agent"}


def read(entry: Any, **environ: str) -> Settings:
    return settings_from({"agents": {"a": entry}}, folder=FOLDER, environ=environ)


def agent_of(entry: Any, **environ: str) -> AgentSettings:
    found = read(entry, **environ).source("a")
    assert isinstance(found, AgentSettings)
    return found


def test_an_agent_is_read_with_everything_filled_in() -> None:
    found = agent_of({**URL, "allowedHosts": ["b"], "timeout": 5, "lock": True})
    assert found == AgentSettings(
        name="a", url=URL["url"], allowed_hosts=("b",), call_timeout_seconds=5.0, lock=True
    )
    assert (found.kind, found.transport) == (AGENT, "a2a")
    assert found.sent_headers == {}


def test_tokens_come_from_the_environment_and_are_never_shown() -> None:
    token = "tok-very-secret-1234"
    by_bearer = agent_of({**URL, "bearer": "${TOKEN}"}, TOKEN=token)
    by_header = agent_of({**URL, "headers": {"X-Api-Key": "${TOKEN}"}}, TOKEN=token)
    assert by_bearer.sent_headers == {"Authorization": f"Bearer {token}"}
    assert by_header.sent_headers == {"X-Api-Key": token}
    in_url = agent_of({"url": f"https://me:{token}@example.org/"})
    for found in (by_bearer, by_header, in_url):
        assert token not in repr(found)
        assert found.secrets.redact(f"It said {token}.") == "It said ***."


@pytest.mark.parametrize(
    ("entry", "key_path", "problem", "fix"),
    [
        ("https://x", "", "must be an object, but is a text", '{"url": ...}'),
        ({}, ".url", "missing", "Add it"),
        ({"url": "example.org"}, ".url", "does not start with http", "https://example.com"),
        ({**URL, "bearer": "a\nb"}, ".bearer", "line break", "one line"),
        (
            {**URL, "bearer": "x", "headers": {"authorization": "y"}},
            "", "`bearer` and the header `Authorization`", "Remove one",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_it_is_reported_with_its_place_and_the_fix(
    entry: Any, key_path: str, problem: str, fix: str
) -> None:
    error = read(entry).problems["a"]
    assert isinstance(error, SettingsError)
    assert error.key_path == f"agents.a{key_path}"
    assert problem in error.problem
    assert fix in error.fix


def test_one_that_is_switched_off_needs_nothing() -> None:
    found = agent_of({"url": "${NOPE}", "bearer": "${NOPE}", "disabled": True})
    assert found.disabled


def test_servers_and_agents_name_each_other() -> None:
    found = read(URL)
    with pytest.raises(UnknownServer, match="The one of that name is under `agents`"):
        found.source("a", MCP)
    with pytest.raises(UnknownServer, match="No agent 'b'"):
        found.source("b", AGENT)
    notes = read({**URL, "allowedHost": []}).notes
    assert "Did you mean 'allowedHosts'" in notes[0]
