"""The roots of a server: from its settings, from its arguments, or the working folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sources.mcp.test_real_servers import from_npm
from tests.support.asking_server import asking_entry
from tests.support.bridges import bridge_with, status_of
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, settings_from

ASK = {"method": "roots/list"}


def roots_of(bridge: Bridge) -> list[tuple[str, str]]:
    """The URI and name of each root that the server gets."""
    answer = json.loads(bridge.call_tool("it", "ask", ASK).text)
    return [(x["uri"], x["name"]) for x in answer["roots"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_working_folder_is_the_root(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MCP, roots: file URIs, whatever the name; notebooks outlive some folders."""
    folder = tmp_path / "my wörk #1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with bridge_with(it=asking_entry(mode=mode)) as bridge:
        assert roots_of(bridge) == [(folder.as_uri(), "my wörk #1")]
        # The process stays in its folder; the person's script may change its own.
        monkeypatch.chdir(tmp_path)
        assert roots_of(bridge) == [(tmp_path.as_uri(), tmp_path.name)]
        monkeypatch.chdir(folder)
        folder.rmdir()
        assert roots_of(bridge) == []


def test_roots_come_from_the_settings_or_the_arguments(tmp_path: Path):
    """A server may take roots in place of its arguments: they must be the same folders."""
    by_settings = asking_entry(roots=["data", "${userHome}"])
    by_arguments = asking_entry()
    by_arguments["args"] += [str(tmp_path), f"--data={tmp_path.parent}", "--verbose", "nothing"]
    for entry, folders in (
        (by_settings, [tmp_path / "data", Path.home()]),
        (by_arguments, [tmp_path, tmp_path.parent]),
    ):
        with Bridge(settings_from({"mcpServers": {"it": entry}}, folder=tmp_path)) as bridge:
            assert [uri for uri, _ in roots_of(bridge)] == [x.as_uri() for x in folders]


def test_roots_are_offered_to_a_url_only_by_its_settings(asking_url: str, tmp_path: Path):
    servers = {
        "here": asking_entry(),
        "none": asking_entry(roots=[]),
        "far": {"url": asking_url},
        "by_settings": {"url": asking_url, "roots": [str(tmp_path)]},
    }
    with bridge_with(**servers) as bridge:
        declared = {x: bridge.call_tool(x, "declared").text for x in servers}
    assert {x for x in servers if "roots" in json.loads(declared[x])} == {"here", "by_settings"}


@pytest.mark.npm
def test_the_filesystem_server_keeps_the_folder_in_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It replaces its folders by the roots as soon as there are roots."""
    work, data, other = folders = [tmp_path / x for x in ("work", "data", "other")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.chdir(work)
    servers = {
        "argument": from_npm("server-filesystem", str(data)),
        "neither": from_npm("server-filesystem"),
        "both": from_npm("server-filesystem", str(data), roots=[str(other)]),
    }
    with bridge_with(**servers) as bridge:
        bridge.connect(wait=True)
        for name, allowed in (("argument", data), ("neither", work), ("both", other)):

            def has_roots(name: str = name) -> bool:
                return any("from MCP roots" in x for x in status_of(bridge, name).stderr_tail)

            wait_until(has_roots, "it has the roots")
            text = bridge.call_tool(name, "list_allowed_directories").text
            assert [x for x in folders if str(x) in text] == [allowed]
