"""`xai-mcp-agent history graph`: what the formats hold is tested where they are made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fitting import POST, SHOP
from tests.support.recorded import a_history, a_tool
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.history.place import Place


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history in which a server lost a tool."""
    file = tmp_path_factory.mktemp("project") / "history.db"
    with a_history(Place(f"sqlite:///{file}", str(file), file.parent, file, is_own=True)) as told:
        told.connected("web", a_tool("search"), a_tool("fetch"))
        told.listed("web", a_tool("search"))
    return file


def command(capsys: Any, store: Path, *words: str) -> tuple[int, str, str]:
    """Run the command on that history; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(["history", "graph", *words, "--store", str(store)])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_graph_is_printed_as_mermaid_where_nothing_else_is_reported(store: Path, capsys: Any):
    status, out, err = command(capsys, store)
    assert (status, err) == (0, "")
    assert out.startswith("flowchart ")
    assert "It is not listed any more" in out


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("g.html", "<!doctype html>"),
        ("g.json", "{"),
        ("g.mmd", "flowchart"),
        ("g.md", "```mermaid"),
    ],
)
def test_the_name_of_the_file_says_what_to_write(
    store: Path, tmp_path: Path, capsys: Any, name: str, begin: str
):
    status, out, _ = command(capsys, store, "--out", str(tmp_path / name))
    assert (status, out) == (0, f"Written: {tmp_path / name}\n")
    assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(begin)


def test_it_can_be_as_it_was(store: Path, capsys: Any):
    _, out, _ = command(capsys, store, "--format", "json", "--at", "3")
    states = {x["tool"]: x["state"] for x in json.loads(out)["nodes"] if x["kind"] == "tool"}
    assert states == {"search": "available", "fetch": "available"}
    _, page, _ = command(capsys, store, "--format", "html", "--at", "3")
    assert "2026-07-28" in page


def test_a_file_that_cannot_be_written_is_reported(store: Path, tmp_path: Path, capsys: Any):
    status, _, err = command(capsys, store, "--out", str(tmp_path / "no" / "g.html"))
    assert status == 1
    assert "cannot be written" in err


def test_where_there_is_no_history_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    for name in ("XAI_MCP_STORE", "XAI_MCP_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run(["history", "graph", "--out", "g.html"])
    assert "Nothing is remembered yet" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two servers whose tools fit together."""
    file = tmp_path_factory.mktemp("shops") / "history.db"
    with a_history(Place(f"sqlite:///{file}", str(file), file.parent, file, is_own=True)) as told:
        told.connected("shop", *SHOP)
        told.connected("post", *POST)
    return file


def test_of_a_tool_it_is_told_what_fits_and_how_much_is_left_out(shops: Path, capsys: Any):
    status, out, err = command(capsys, shops, "shop", "list_parcels")
    assert (status, err) == (0, "")
    assert "parcel_id as parcel_id" in out
    _, out, err = command(capsys, shops, "shop", "--limit", "1", "--format", "json")
    assert sum(x["kind"] == "data_flow" for x in json.loads(out)["edges"]) == 1
    assert "that fit less well are left out" in err


def test_a_server_or_tool_that_there_never_was_is_reported_with_the_nearest(
    shops: Path, capsys: Any
):
    status, out, err = command(capsys, shops, "shpo")
    assert (status, out) == (1, "")
    assert "'shop'" in err
    status, _, err = command(capsys, shops, "post", "trace")
    assert status == 1
    assert "trace_parcel" in err


def test_a_format_that_there_is_not_is_wrong_usage(shops: Path, capsys: Any):
    status, out, err = command(capsys, shops, "--format", "svg")
    assert (status, out) == (2, "")
    assert "'svg' is not one of 'mermaid', 'json', 'html'." in err
    assert "Value error" not in err
