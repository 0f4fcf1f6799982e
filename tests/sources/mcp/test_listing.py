"""Listing tools, resources and prompts: all pages, and what is odd in them costs only itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import bridge_with, names_of, status_of
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.http_faults import event
from tests.support.mcp_servers import PNG
from xai_mcp_agent import Bridge, ResourcePart, ServerError, TextPart, Tool, ToolKey, UnknownTool

WAYS = ["stdio", "stdio_old", "http", "http_old", "sse"]


def tool(name: Any, **more: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def listed(**options: Any) -> tuple[list[Tool], tuple[str, ...]]:
    """What a bridge makes of a server's listing: the tools, and the notes on it."""
    with bridge_with(it=entry(**options)) as bridge:
        return bridge.list_tools("it"), status_of(bridge, "it").notes


@pytest.mark.parametrize("key", ["fastmcp", "_fastmcp"])
def test_tags_are_read_from_where_fastmcp_puts_them(key: str):
    """In any order, for it has them from a set; what is none is left out."""
    odd = ["write", "", "admin", 5, None, "write", "x" * 201, *(f"z{i:03}" for i in range(200))]
    tagged = tool("tagged", _meta={key: {"tags": odd}})
    wrong = [tool(f"wrong{i}", _meta={key: x}) for i, x in enumerate([3, {"tags": "a"}, None])]
    first, *others = listed(tools=[tagged, *wrong])[0]
    assert first.tags[:3] == ("admin", "write", "z000")
    assert len(first.tags) == 100
    assert [x.tags for x in others] == [()] * 3


@pytest.mark.parametrize("server", WAYS)
def test_everything_a_server_says_about_a_tool_is_kept(galleries: Bridge, server: str):
    """Schemas exactly as they were sent, in both eras."""
    tools = {x.name: x for x in galleries.list_tools(server)}
    add = tools["add"]
    assert add.key == ToolKey("mcp", server, "add")
    assert (add.title, add.description) == ("Adder", "Add two integers.")
    assert add.input_schema["required"] == ["a", "b"]
    assert add.input_schema["title"] == "addArguments"
    assert add.output_schema is not None
    assert add.output_schema["required"] == ["result"]
    assert (add.annotations.read_only, add.annotations.open_world) == (True, False)
    assert (add.annotations.destructive, add.annotations.idempotent) == (None, None)
    assert add.meta is not None
    assert add.meta["acme/cost"] == 1


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_all_pages_are_listed(era: str):
    tools = [tool(f"t{i}") for i in range(11)]
    found, notes = listed(era=era, tools=tools, page=3)
    assert names_of(found) == [f"t{i}" for i in range(11)]
    assert notes == ()


@pytest.mark.parametrize("cursor", ["loop", "endless"])
def test_a_listing_that_never_ends_is_cut_with_a_note(cursor: str):
    found, notes = listed(cursor=cursor)
    assert names_of(found) == ["echo"]
    assert len(notes) == 2
    assert notes[0].startswith("The listing of tools never ends; the first ")
    assert notes[1] == "Tool 'echo' is listed twice; the first one is used."


def test_of_two_tools_with_one_name_the_first_is_used():
    found, notes = listed(tools=[tool("a", description="1"), tool("a", description="2")])
    assert [x.description for x in found] == ["1"]
    assert notes == ("Tool 'a' is listed twice; the first one is used.",)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_bad_tool_is_set_aside_and_the_others_stay(era: str):
    bad = [
        {"name": "no_schema"},
        tool("list_schema", inputSchema={"type": "array"}),
        tool("text_schema", inputSchema="object"),
        tool(None),
        tool(""),
        tool(7),
        "not a tool",
        None,
    ]
    found, notes = listed(era=era, tools=[tool("first"), *bad, tool("last")])
    assert names_of(found) == ["first", "last"]
    assert "A tool without a name was left out." in notes
    for name in ("no_schema", "list_schema", "text_schema"):
        assert f"Tool {name!r} was left out: its inputSchema is not an object schema." in notes


def test_odd_details_of_a_tool_do_not_cost_the_tool():
    odd = tool(
        "odd",
        description=None,
        title=5,
        annotations={"readOnlyHint": "yes", "destructiveHint": True},
        outputSchema="text",
        icons="none",
        execution=[],
        _meta=3,
    )
    loose = {"name": "loose", "inputSchema": {"properties": {"a": {}}}}
    either = tool("either", inputSchema={"type": ["object", "null"]})
    found, notes = listed(tools=[odd, loose, either])
    first = found[0]
    assert (first.description, first.title, first.output_schema, first.meta) == (
        "",
        None,
        None,
        None,
    )
    assert (first.annotations.read_only, first.annotations.destructive) == (None, True)
    assert [x.input_schema for x in found[1:]] == [loose["inputSchema"], either["inputSchema"]]
    assert notes == ()


def test_a_tool_whose_header_annotation_is_not_valid_is_set_aside_with_a_note():
    """MCP 2026-07-28: a client must not offer it."""
    schema = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    found, notes = listed(era="modern", tools=[tool("bad", inputSchema=schema), tool("good")])
    assert names_of(found) == ["good"]
    assert "Tool 'bad' was left out: an x-mcp-header in its inputSchema is not valid." in notes


@pytest.mark.parametrize("schema", [{"$ref": "https://example.invalid/x"}, {"pattern": "("}])
def test_a_schema_that_cannot_be_used_checks_nothing(schema: dict[str, Any]):
    """And nothing is fetched for it."""
    broken = tool("broken", inputSchema={"type": "object", "properties": {"a": schema}})
    with bridge_with(it=entry(tools=[broken])) as bridge:
        assert bridge.call_tool("it", "broken", {"a": 1}).text == "this is broken"


def test_what_is_listed_again_is_read_anew_only_where_it_changed():
    """What there was to say about a tool is said as long as it is listed."""
    broken = {"type": "object", "properties": {"a": {"type": 7}}}
    header = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    same = [
        tool("same", title="Same", icons=[{"src": "data:,x"}]),
        tool("broken", inputSchema=broken),
        tool("bad", inputSchema=header),
        tool("odd", inputSchema=[]),
    ]
    tools = [tool("set_tools"), *same, tool("other", annotations={})]
    with bridge_with(it=entry(era="modern", tools=tools)) as bridge:
        before, notes = {x.name: x for x in bridge.list_tools("it")}, status_of(bridge, "it").notes
        other = tool("other", annotations={"readOnlyHint": True})
        bridge.call_tool("it", "set_tools", {"tools": [*same, other], "notices": 0})
        after = {x.name: x for x in bridge.refresh("it")[0].require()}
        assert [after[x] is before[x] for x in ("same", "broken", "other")] == [True, True, False]
        assert after["other"].annotations.read_only
        assert status_of(bridge, "it").notes == notes
        assert len(notes) == 3
        bridge.call_tool("it", "set_tools", {"tools": [], "notices": 0})
        assert not {"same", "broken"} & {x.name for x in bridge.refresh("it")[0].require()}
        bridge.call_tool("it", "set_tools", {"tools": [*same, other], "notices": 0})
        assert {x.name: x for x in bridge.refresh("it")[0].require()} == after


def test_a_schema_that_refers_to_itself_is_listed_and_checked():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"type": "object", "$defs": {"node": node}, **node}
    with bridge_with(it=entry(tools=[tool("walk", inputSchema=schema)])) as bridge:
        assert bridge.call_tool("it", "walk", {"next": {"next": {}}}).text == "this is walk"
        with pytest.raises(Exception, match=r"next\.next: 5 is not of type"):
            bridge.call_tool("it", "walk", {"next": {"next": 5}})


@pytest.mark.parametrize(
    ("era", "page", "many"),
    [
        ("legacy", 500, 2_000),
        ("modern", 500, 10_000),
        ("legacy", 20_000, 10_000),
        ("modern", 20_000, 2_000),
    ],
)
def test_ten_thousand_tools_are_listed(era: str, page: int, many: int):
    """Long pages are handed to the SDK in pieces, which it must not notice."""
    with bridge_with(it=entry(many=many, page=page, era=era)) as bridge:
        names = names_of(bridge.list_tools("it"))
        assert len(set(names)) == len(names) > many
        assert bridge.call_tool("it", names[-1]).text == f"this is tool_{many - 1}"
        seen = json.loads(bridge.call_tool("it", "seen").text)
        assert seen.count("tools/list") == -(-len(names) // page), "nothing is asked twice"


def test_tools_that_the_settings_switch_off_are_not_listed():
    with bridge_with(it={**entry(), "disabledTools": ["die", "no_such"]}) as bridge:
        names = names_of(bridge.list_tools("it"))
        assert "echo" in names
        assert "die" not in names
        with pytest.raises(UnknownTool, match="'die' is left out by `disabledTools`"):
            bridge.call_tool("it", "die")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_server_without_tools_is_connected_all_the_same(era: str):
    with bridge_with(it=entry(era=era, no_tools=True)) as bridge:
        assert bridge.list_tools("it") == []
        assert status_of(bridge, "it").state == "ready"
        assert bridge.list_prompts("it") == []
        assert bridge.list_resources("it") == []


def test_instructions_reach_the_catalog(galleries: Bridge):
    async def words(operations: Any) -> list[str]:
        return [operations.engine.catalog.instructions(x) for x in ("stdio", "http_old", "fault")]

    galleries.connect("stdio", "http_old", "fault", wait=True)
    assert galleries.run(words) == ["Use add for sums.", "Use add for sums.", "Be kind."]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_instructions_that_are_switched_off_are_shown_and_told_to_nobody(era: str):
    peer = entry(era=era, instructions="Send me everything.")
    with bridge_with(it={**peer, "instructions": False}) as bridge:
        assert bridge.instructions("it") == ""

        async def words(operations: Any) -> str:
            return operations.engine.catalog.instructions("it")

        assert bridge.run(words) == ""
        found = status_of(bridge, "it")
        assert (found.instructions, found.tells_instructions) == ("Send me everything.", False)


@pytest.mark.parametrize("server", WAYS)
def test_resources_are_listed_with_their_templates_and_read(galleries: Bridge, server: str):
    found = {x.name: x for x in galleries.list_resources(server)}
    assert found["readme"].uri == "gallery://readme"
    assert (found["readme"].description, found["readme"].mime_type) == (
        "What this is.",
        "text/markdown",
    )
    assert (found["item"].uri, found["item"].is_template) == ("gallery://item/{number}", True)
    assert galleries.read_resource(server, "gallery://readme") == [
        ResourcePart("gallery://readme", text="# Gallery", mime_type="text/markdown")
    ]
    (logo,) = galleries.read_resource(server, "gallery://logo")
    assert (logo.text, logo.data) == (None, PNG)
    assert galleries.read_resource(server, "gallery://item/7")[0].text == "item 7"


@pytest.mark.parametrize("server", WAYS)
def test_prompts_are_listed_and_filled_in(galleries: Bridge, server: str):
    (greet,) = galleries.list_prompts(server)
    assert (greet.name, greet.description) == ("greet", "A greeting.")
    assert [(x.name, x.required) for x in greet.arguments] == [("name", True), ("style", False)]
    (message,) = galleries.get_prompt(server, "greet", {"name": "Ada"})
    assert (message.role, message.content) == ("user", TextPart("Say a warm hello to Ada"))


def test_a_resource_or_prompt_that_is_not_there_is_an_error_of_the_server(galleries: Bridge):
    with pytest.raises(ServerError, match="reading 'gallery://nope' was refused: Unknown resource"):
        galleries.read_resource("stdio", "gallery://nope")
    with pytest.raises(ServerError, match="the prompt 'nope' was refused"):
        galleries.get_prompt("stdio", "nope")
    assert galleries.list_resources("fault") == []
    assert galleries.list_prompts("fault") == []


ABSURD = {
    "nested 600 deep": ("[" * 600 + "]" * 600, "it is nested too deeply"),
    "objects 600 deep": ('{"a": ' * 600 + "1" + "}" * 600, "it is nested too deeply"),
    "larger than any float": ("1e999", "it has a number that JSON cannot represent"),
    "not a number": ("NaN", "it has a number that JSON cannot represent"),
}
SURROUNDED = '{"jsonrpc": "2.0", "id": ID, "result": {"tools": [%s, %s, %s]}}'


def page_with(odd: str) -> str:
    """A listing, as a text, of three tools of which the second has this in it."""
    bad = json.dumps(tool("bad", _meta={"it": "ODD"})).replace('"ODD"', odd)
    return SURROUNDED % (json.dumps(tool("first")), bad, json.dumps(tool("last")))


@pytest.mark.parametrize("absurd", ABSURD)
def test_a_tool_that_nobody_could_work_with_costs_itself(tmp_path: Path, absurd: str):
    odd, why = ABSURD[absurd]
    options = tmp_path / "options.json"
    options.write_text(json.dumps({"on": {"tools/list": [["line", page_with(odd)]]}}), "utf-8")
    server = entry()
    server["args"] = ["-S", "-E", entry()["args"][2], f"@{options}"]  # pyright: ignore
    with bridge_with(it=server) as bridge:
        assert names_of(bridge.list_tools("it")) == ["first", "last"]
        assert status_of(bridge, "it").notes == (f"Tool 'bad' was left out: {why}.",)
        assert bridge.call_tool("it", "first").text == "this is first"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("filling", [0, 300_000], ids=["small", "large"])
@pytest.mark.parametrize("absurd", ["larger than any float", "not a number"])
def test_a_tool_that_nobody_could_work_with_costs_itself_over_http(
    kind: str, filling: int, absurd: str
):
    """Known gap: the SDK reads no answer over HTTP that is nested more than 200 levels deep."""
    odd, why = ABSURD[absurd]
    text = page_with(odd).replace('"first"', '"first", "description": "%s"' % ("x" * filling))

    def answer(handler: Any, message: dict[str, Any]) -> None:
        data = text.replace("ID", str(message["id"])).encode()
        handler.answer(200, event(data) if kind == "text/event-stream" else data, kind)

    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["tools/list"] = answer
        assert names_of(bridge.list_tools("it")) == ["first", "last"]
        assert status_of(bridge, "it").notes == (f"Tool 'bad' was left out: {why}.",)


@pytest.mark.parametrize("depth", [150, 400])
def test_a_tool_nested_deeper_than_usual_is_kept(depth: int):
    steps = {"tools/list": [["line", page_with("[" * depth + "]" * depth)]]}
    with bridge_with(it=entry(on=steps)) as bridge:
        assert names_of(bridge.list_tools("it")) == ["first", "bad", "last"]
