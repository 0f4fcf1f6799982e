"""The folders a server is told of: chosen by settings, by its arguments, or the working folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.test_real_servers import from_npm
from tests.support.asking_server import asking_entry
from tests.support.bridges import bridge_with, status_of
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, settings_from

ASK = {"method": "roots/list"}


def told(bridge: Bridge, server: str) -> list[tuple[str, str]]:
    """The URIs and names of the roots that the server is told."""
    answer = json.loads(bridge.call_tool(server, "ask", ASK).text)
    return [(x["uri"], x["name"]) for x in answer["roots"]]


def declares_roots(bridge: Bridge, server: str) -> bool:
    """Whether the server may ask for them."""
    return "roots" in json.loads(bridge.call_tool(server, "declared").text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_is_told_the_working_folder(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """MCP, roots: file URIs, whatever the name; notebooks outlive some folders."""
    folder = tmp_path / "my wörk #1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with bridge_with(it=asking_entry(mode=mode)) as bridge:
        assert told(bridge, "it") == [(folder.as_uri(), "my wörk #1")]
        # The child was made where it is; the person's script moves on.
        monkeypatch.chdir(tmp_path)
        assert told(bridge, "it") == [(tmp_path.as_uri(), tmp_path.name)]
        monkeypatch.chdir(folder)
        folder.rmdir()
        assert told(bridge, "it") == []


def test_folders_of_the_settings_count_from_the_settings_file(tmp_path: Path):
    entry = asking_entry(roots=["data", "${userHome}"])
    loaded = settings_from({"mcpServers": {"it": entry}}, folder=tmp_path)
    with Bridge(loaded) as bridge:
        assert [uri for uri, _ in told(bridge, "it")] == [
            (tmp_path / "data").as_uri(),
            Path.home().as_uri(),
        ]


def test_folders_among_the_arguments_stay_those_of_the_server(tmp_path: Path):
    """A server may take roots in place of its arguments: it is told the same folders then."""
    entry = asking_entry()
    entry["args"] += [str(tmp_path), f"--data={tmp_path.parent}", "--verbose", "nothing"]
    with bridge_with(it=entry) as bridge:
        assert [uri for uri, _ in told(bridge, "it")] == [
            tmp_path.as_uri(),
            tmp_path.parent.as_uri(),
        ]


def test_only_servers_that_are_reported_folders_may_ask_for_them(asking_url: str, tmp_path: Path):
    """What is behind a URL is not told of folders here unless a person says so."""
    with bridge_with(
        here=asking_entry(),
        none=asking_entry(roots=[]),
        far={"url": asking_url},
        chosen={"url": asking_url, "roots": [str(tmp_path)]},
    ) as bridge:
        assert declares_roots(bridge, "here")
        assert not declares_roots(bridge, "none")
        assert not declares_roots(bridge, "far")
        assert declares_roots(bridge, "chosen")


def allowed(entry: dict[str, Any]) -> str:
    """What the filesystem server says it may touch, once it was told the roots."""

    def was_told() -> bool:
        return any("from MCP roots" in x for x in status_of(bridge, "files").stderr_tail)

    with bridge_with(files=entry) as bridge:
        bridge.connect("files", wait=True)
        wait_until(was_told, "it was told the roots")
        return bridge.call_tool("files", "list_allowed_directories").text


def test_the_filesystem_server_keeps_the_folder_of_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It takes its folders from the roots as soon as there are some."""
    work, data, other = (tmp_path / x for x in ("work", "data", "other"))
    for folder in (work, data, other):
        folder.mkdir()
    monkeypatch.chdir(work)
    by_argument = allowed(from_npm("server-filesystem", str(data)))
    assert str(data) in by_argument
    assert str(work) not in by_argument
    assert str(work) in allowed(from_npm("server-filesystem"))
    by_roots = allowed(from_npm("server-filesystem", str(data), roots=[str(other)]))
    assert str(other) in by_roots
    assert str(data) not in by_roots
