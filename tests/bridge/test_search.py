"""The search over the tools of a bridge's servers, for a program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support import catalog_server
from tests.support.embeddings_endpoint import EmbeddingsEndpoint, embeddings_endpoint, meanings
from tests.support.processes import wait_until
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, JsonObject, Ranked, SettingsError, Tool

TOOLS = {
    "forecast": "Tells whether an umbrella is needed.",
    "send_letter": "Sends a letter by post.",
    "pay": "Pays a bill.",
}
Settings = Callable[..., JsonObject]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with two servers of the same tools; what is given is the section `toolSearch`."""
    monkeypatch.chdir(tmp_path)
    lines = [
        {"name": name, "description": text, "input_schema": {"type": "object"}}
        for name, text in TOOLS.items()
    ]
    (tmp_path / "tools.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    args = [catalog_server.__file__, str(tmp_path / "tools.jsonl")]
    server = {"command": warm_python(), "args": args}
    return lambda **search: {"mcpServers": {"a": server, "b": server}, "toolSearch": search}


@pytest.fixture
def endpoint() -> Generator[EmbeddingsEndpoint]:
    with embeddings_endpoint() as made:
        yield made


def names(found: list[Ranked[Tool]]) -> list[str]:
    return [str(x.tool.key) for x in found]


def test_a_program_finds_tools_of_all_servers_or_of_some(settings: Settings):
    with Bridge(settings()) as bridge:
        found = bridge.search_tools("send a letter")
        assert names(found) == ["a/send_letter", "b/send_letter"]
        assert names(bridge.search_tools("send a letter", "b")) == ["b/send_letter"]
        assert bridge.search_tools("send a letter", "unknown") == []
        assert asyncio.run(bridge.aio.search_tools("pay", limit=1)) == [
            *bridge.search_tools("pay", limit=1)
        ]
    assert found[0].score == 1.0
    assert "name matches 'send', 'letter'" in found[0].reasons[0]


def test_what_is_blocked_is_not_found_and_what_is_trusted_comes_first(settings: Settings):
    with Bridge(settings(blocked=["a/pay"], trusted=["b"])) as bridge:
        assert names(bridge.search_tools("pay a bill")) == ["b/pay"]
        found = bridge.search_tools("send a letter")
    assert names(found) == ["b/send_letter", "a/send_letter"]
    assert "trusted" in found[0].reasons


def test_groups_of_the_file_can_be_blocked_and_trusted(settings: Settings):
    post = {"selectors": [{"source": "a", "name": "send_*"}], "include": ["a/pay"]}
    with Bridge({**settings(blocked=["post"]), "groups": {"post": post}}) as bridge:
        assert names(bridge.search_tools("pay a bill")) == ["b/pay"]
        assert names(bridge.search_tools("send a letter")) == ["b/send_letter"]
    with Bridge({**settings(trusted=["post"]), "groups": {"post": post}}) as bridge:
        assert names(bridge.search_tools("send a letter"))[0] == "a/send_letter"


def test_a_wrong_group_that_is_blocked_keeps_tools_from_being_found(settings: Settings):
    """Nobody can tell what is blocked."""
    wrong = {"post": {"selector": []}}
    blocked = Bridge({**settings(blocked=["po*"]), "groups": wrong})
    with blocked, pytest.raises(SettingsError, match="this key is not known"):
        blocked.search_tools("pay a bill")
    with Bridge({**settings(trusted=["po*"]), "groups": wrong}) as bridge:
        assert bridge.search_tools("pay a bill")


def test_a_tool_that_a_server_adds_is_found(settings: Settings):
    with Bridge(settings()) as bridge:
        bridge.search_tools("pay")
        bridge.call_tool("a", "add_tool", {"name": "water", "description": "Waters the plants."})
        wait_until(lambda: names(bridge.search_tools("plants")) == ["a/water"], "it is found")


def test_meaning_counts_where_the_settings_name_a_model_and_is_kept_for_the_next_time(
    settings: Settings, endpoint: EmbeddingsEndpoint, tmp_path: Path
):
    wanted: Any = settings(embeddings={"model": "meanings", "baseUrl": endpoint.base_url})

    def finds_by_meaning(bridge: Bridge) -> bool:
        return names(bridge.search_tools("Will there be rain?")) == ["a/forecast", "b/forecast"]

    with Bridge(wanted, store=tmp_path / "history.db") as bridge:
        wait_until(lambda: finds_by_meaning(bridge), "the vectors are made")
    assert len(endpoint.texts) > len(TOOLS)
    endpoint.asked.clear()
    with Bridge(wanted, store=tmp_path / "history.db") as bridge:
        wait_until(lambda: finds_by_meaning(bridge), "the vectors are looked up")
    assert endpoint.texts == ["Will there be rain?"]


def test_a_model_that_is_not_there_costs_the_words_nothing(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with Bridge(settings(embeddings={"folder": str(tmp_path)})) as bridge:
        assert names(bridge.search_tools("send a letter", "a")) == ["a/send_letter"]
        assert bridge.search_tools("Will there be rain?") == []
    (said,) = (x.message for x in caplog.records if "words alone" in x.message)
    assert str(tmp_path) in said


def test_a_function_of_a_program_makes_the_vectors(settings: Settings):
    with Bridge(settings(), embed=meanings) as bridge:
        wait_until(lambda: names(bridge.search_tools("rain", "a")) == ["a/forecast"], "it is found")
