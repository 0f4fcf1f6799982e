"""`tools list` and `refresh`: pages, groups, the past, OpenAPI documents, and what changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.bakery import bakery
from tests.support.commands import Cli, write_settings
from tests.support.fault_server import entry
from xai_mcp_agent import Bridge
from xai_mcp_agent.canvas.ports import names


def tool_entries(*names: str) -> list[dict[str, Any]]:
    """Return tools as a server lists them."""
    return [{"name": x, "inputSchema": {"type": "object"}} for x in names]


@pytest.fixture
def shop(folder: Path) -> Path:
    """Two servers with four tools, one of them blocked."""
    servers = {
        "shop": entry(tools=tool_entries("get_order", "set_order", "pay")),
        "mail": entry(tools=tool_entries("send")),
    }
    write_settings(folder, servers, toolSearch={"blocked": ["shop/set_order"]})
    return folder


def names_in(out: str) -> list[str]:
    """Return the names of servers and tools in the output."""
    return re.findall(r"^(?:  )?(\w+(?::$|(?=\()))", out, re.MULTILINE)


# Pages


def test_every_page_but_the_last_says_how_to_get_the_next(shop: Path, cli: Cli):
    out = cli("tools list --limit 2").out
    assert names_in(out) == ["shop:", "get_order", "set_order"]
    assert out.splitlines()[-1] == "2 more of 4: go on with --offset 2."
    out = cli("tools list --limit 2 --offset 2").out
    assert names_in(out) == ["shop:", "pay", "mail:", "send"]
    assert "--offset" not in out
    out = cli("tools list --limit 2 --offset 9").out
    assert out == "There is no tool here, of 4 that match.\n"


def test_tools_are_filtered_by_name_and_by_whether_agents_may_use_them(shop: Path, cli: Cli):
    def select(words: str) -> tuple[dict[str, list[str]], int]:
        answer = cli(f"tools list --json --named {words}").json
        return {x: [one["name"] for one in y] for x, y in answer["tools"].items()}, answer["total"]

    assert select("*_order") == ({"shop": ["get_order", "set_order"]}, 2)
    assert select("*_order --usable") == ({"shop": ["get_order"]}, 1)
    assert select("*_order --limit 1 --offset 1") == ({"shop": ["set_order"]}, 2)
    assert select("mail/*") == ({"mail": ["send"]}, 1)
    assert cli("tools list --named xyz*").out == "There is no tool here, of 0 that match.\n"
    cli("tools list --named regex:(").fails("is no pattern for names")
    for words in ("--all --limit 3", "--at 1h --named x", "--all --as-list"):
        cli(f"tools list {words}").fails("leave them out", status=2)


def test_as_list_prints_names_in_the_form_that_a_list_on_the_canvas_takes(shop: Path, cli: Cli):
    """Xircuits reads the list as JSON between brackets, and a port with a text as text."""
    as_list = "tools list --as-list"
    assert cli(f"{as_list} shop --usable") == (0, '"get_order", "pay"\n', "")
    ran = cli(f"{as_list} shop --named *_order --limit 1")
    assert ran == (0, '"get_order"\n', "1 more of 2: go on with --offset 1.\n")
    assert names(ran.out, "tools", "AgentUseMCPTools") == ["get_order"]
    assert cli(f"{as_list} shop --named xyz*") == (
        0,
        "",
        "There is no tool here, of 0 that match.\n",
    )
    assert cli(f"{as_list} --named se*").out == '"shop/set_order", "mail/send"\n'
    assert cli(f"{as_list} shop --json").json[0] == "get_order"
    odd = 'a "b", c'
    write_settings(shop, {"it": entry(tools=tool_entries(odd))})
    out = cli(f"{as_list} it").out
    assert json.loads(f"[{out}]") == names(out, "tools", "x") == [odd]


def test_a_group_lists_its_tools_and_reports_missing_ones(folder: Path, cli: Cli):
    groups = {"g": {"selectors": [{"name": "get_*"}], "include": ["it/set_b", "dead/set_c"]}}
    servers = {"it": entry(tools=tool_entries("get_a", "get_b", "set_a")), "dead": entry(exit=3)}
    write_settings(folder, servers, groups=groups)
    ran = cli("tools list g").shows("'it/set_b', which does not exist", "dead: ", status=1)
    assert names_in(ran.out) == ["it:", "get_a", "get_b"]
    assert "set_c" not in ran.text, "a server that failed may have it"


def test_a_description_that_goes_on_in_the_next_line_is_not_cut_there(folder: Path, cli: Cli):
    """Docstrings such as those of Python's `statistics`, and comments of workflows, are wrapped."""
    texts = {
        "a": "Estimates the median of data\n  around midpoints.\nMore.", "b": "Heading\n\nMore",
    }  # fmt: skip
    tools: list[dict[str, Any]] = [
        {"name": x, "description": y, "inputSchema": {}} for x, y in texts.items()
    ]
    write_settings(folder, {"it": entry(tools=tools)})
    out = cli("tools list it").out
    assert "a(no parameters): Estimates the median of data around midpoints.\n" in out
    assert "b(no parameters): Heading\n" in out


def test_explain_shows_the_alternatives_of_a_choice_as_such(folder: Path, cli: Cli):
    """FastAPI, tsoa and Nest describe unions of bodies so."""
    either = [
        {"type": "object", "properties": {"kind": {"const": kind}, "name": {"type": "string"}}}
        for kind in ("cat", "dog")
    ]
    schema = {"type": "object", "properties": {"pet": {"oneOf": either}}}
    tools: list[dict[str, Any]] = [{"name": "keep", "inputSchema": schema}]
    write_settings(folder, {"it": entry(tools=tools)})
    out = cli("tools explain it keep").shows('or pet.kind ("dog")', "or pet.name (string)").out
    assert 'or pet.kind ("cat")' not in out


# The past


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose server lost a tool; the settings start another program now."""
    folder = tmp_path_factory.mktemp("project")
    file = write_settings(folder, {"it": entry(), "old": entry()})
    with Bridge.open(file) as bridge:
        bridge.call_tool("it", "echo", {"text": "a"})
        few_tools = [x for x in bridge.list_tools("it") if x.name in ("echo", "set_tools")]
        tools = [{"name": x.name, "inputSchema": x.input_schema} for x in few_tools]
        bridge.call_tool("it", "set_tools", {"tools": tools, "only": True})
        bridge.refresh("it")
        bridge.list_tools("old")
    mark = folder / "started"
    write_settings(folder, {"it": entry(), "bad": {"command": "touch", "args": [str(mark)]}})
    return folder


def test_at_shows_tools_of_the_past_without_starting_a_server(
    past: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(past)
    lines = cli("tools list it --at 0s").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("As of 20")
    assert lines[1].startswith("it (fault 1): 2 tools, not connected since ")
    assert any(x.startswith("  echo: 1 call, ") for x in lines)
    row = lines.index("  pid: never called")
    assert lines[row + 1].startswith("      gone since 20")
    assert cli("tools list --at 1 --json").json["servers"][0]["name"] == "it"
    nothing = (0, "As of event 1:\nThere was no history then.\n", "")
    assert cli("tools list old --at 1") == nothing
    cli("tools list itt --at 0s").fails("Did you mean 'it'?")
    cli("tools list --at soon").fails("Or the position of an event", status=2)
    assert not (past / "started").exists()


def test_all_connects_the_servers_and_shows_lost_tools_from_the_history(
    past: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(past)
    cli("tools list --all").shows(
        "it (fault 1): connected, ", "old (fault 1): ", "bad: never connected: ", "error: bad: ",
        status=1,
    )  # fmt: skip
    assert (past / "started").exists()
    ran = cli("tools list old --all --json").shows()
    assert {x["state"] for x in ran.json["tools"]} == {"at rest"}
    cli("tools list itt --all").fails("Did you mean 'it'?")


# Refreshing


def test_refresh_shows_changes_and_continues_after_a_failing_server(folder: Path, cli: Cli):
    before, later = tool_entries("buy", "sell"), {"tools": tool_entries("buy", "rent")}
    shop = entry(
        tools=before, then={"tools": before, "then": later}, journal=str(folder / "journal")
    )
    write_settings(folder, {"shop": shop, "bad": {"command": "no-such-program-anywhere"}})
    ran = cli("tools refresh")
    assert ran[:2] == (1, "shop: 2 tools, listed for the first time\n")
    assert ran.err.startswith("error: bad: ")
    cli("tools refresh shop").shows("shop: 2 tools; nothing changed since 20")
    changed = ("shop: 2 tools; these changed since 20", "shop.rent", "shop.sell")
    cli("tools refresh shop").shows(*changed)
    (folder / "taken").write_text("")
    unknown = "shop: 2 tools. The changes are unknown: The history in "
    cli("tools refresh shop --store taken/history.db").shows(unknown)
    cli("tools refresh shap").fails()


# Documents

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "2"},
    "servers": [{"url": "https://shop.example.com/v2"}],
    "paths": {
        "/things/{id}": {
            "get": {
                "operationId": "get_thing",
                "summary": "One thing",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "id", "in": "query", "schema": {"type": "array"}},
                ],
                "responses": {},
            },
            "put": {"$ref": "#/nowhere"},
        }
    },
}


def test_list_shows_the_tools_of_an_openapi_document_and_where_arguments_go(folder: Path, cli: Cli):
    (folder / "shop.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    cli("tools list shop.json").shows(
        "Shop 2: 1 tool. get_thing(id: string, id__query?: ", "GET /things/{id} One thing",
        "PUT /things/{id}: #/nowhere leads to nothing.",
    )  # fmt: skip
    ran = cli("tools list shop.json get_thing")
    ran.shows("at https://shop.example.com/v2", "id__query: in the query, as id (form, exploded)")
    assert "url: " in ran.out.partition("Templates to copy")[2]
    answer = cli("tools list shop.json --base-url http://x.test --json").json
    assert answer["tools"][0]["plan"]["base_url"] == "http://x.test"
    (folder / "rules.json").write_text("{}")
    cli("tools list none.yaml").fails("cannot be read")
    cli("tools list rules.json").fails("has neither `openapi` nor `swagger`")
    cli("tools list shop.json get_things").fails("get_thing")
    with bakery() as address:
        cli(f"tools list {address}/openapi.json").shows("Bakery 1.0: 7 tools.")
