"""The nodes that use, find and explain tools without a model, against the example servers."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import call, make, play
from tests.support.commands import SERVERS
from tests.support.warm_python import python_entry
from xai_mcp_agent import (
    BadSetting,
    InvalidArguments,
    ResourcePart,
    UnknownAgent,
    UnknownServer,
    UnknownTool,
    XaiMcpError,
)
from xai_mcp_agent.agent_components import AgentMakeToolbelt, AgentPreferTools, AgentUseMCPTools
from xai_mcp_agent.canvas.lease import bridge_of
from xai_mcp_agent.canvas.servers import CannotSave, save
from xai_mcp_agent.canvas.steps import StepFailed
from xai_mcp_agent.canvas.toolbelts import define_tool
from xai_mcp_agent.mcp_components import (
    MCPCallTool,
    MCPExplainTool,
    MCPGetPrompt,
    MCPListTools,
    MCPReadResource,
    MCPRefreshTools,
    MCPSearchTools,
    MCPServerStatus,
    MCPToolHistory,
    MCPToolStep,
)
from xai_mcp_agent.steps.references import VALUE_PLACEHOLDER

from .conftest import UseServers

SEARCH = 'library/search_books\nquery = "sea"'


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers, library: dict[str, Any]) -> None:
    units = python_entry(SERVERS / "units.py")
    broken, off = {"command": "no-such-program-anywhere"}, {**library, "disabled": True}
    use_servers(library=library, units=units, broken=broken, half={}, off=off)


def get_book(**arguments: Any) -> MCPCallTool:
    return make(MCPCallTool, server_name="library", tool_name="get_book", arguments=arguments)


def test_tools_are_listed_and_called_with_data_and_text() -> None:
    """The tool's own error is a result."""
    listed = make(MCPListTools, server_name="library")
    node, missing = get_book(book_id=14), get_book(book_id=999)
    play({}, listed, node, missing)
    assert [x["name"] for x in listed.tools.value][:2] == ["search_books", "get_book"]
    assert listed.tools.value[0]["input_schema"]["required"] == ["query"]
    assert "search_books(query: string" in listed.summary.value.splitlines()[0]
    assert "Moby-Dick" in node.text.value
    assert node.structured.value["title"] == "Moby-Dick"
    assert [part["kind"] for part in node.parts.value] == ["text"]
    assert (node.is_error.value, missing.is_error.value) == (False, True)
    assert "There is no book 999" in missing.text.value


@pytest.mark.parametrize(
    ("node", "ports", "error", "words"),
    [
        (MCPCallTool, {"tool_name": "get_book"}, InvalidArguments, "book_id"),
        (MCPCallTool, {"tool_name": "serch_books"}, UnknownTool, "search_books"),
        (MCPListTools, {"server_name": "librery"}, UnknownServer, r"'librery'.*library.*broken"),
        (MCPReadResource, {"uri": "library://book/{book_id}"}, InvalidArguments, "book_id is mis"),
        (MCPGetPrompt, {"server_name": "librery"}, UnknownServer, "library"),
        (MCPExplainTool, {"tool_name": "serch_books"}, UnknownTool, "Did you mean 'search_books'"),
        (MCPToolHistory, {"server_name": "librery"}, UnknownServer, "library"),
        (MCPToolHistory, {"since": "soon"}, BadSetting, "since: 'soon' is not a time"),
        (MCPToolHistory, {"agent_name": "nobody"}, UnknownAgent, "no agent 'nobody'"),
        (MCPToolHistory, {"tool_name": "get_bok"}, UnknownTool, "get_book"),
    ],
)
def test_a_mistake_is_reported_at_its_node(
    node: Any, ports: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=rf"(?s){words}"):
        play({}, get_book(book_id=14), make(node, **{"server_name": "library", **ports}))


def test_resources_are_listed_read_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "books" / "card.json"
    listed = make(MCPReadResource, server_name="library")
    read = make(MCPReadResource, server_name="library", uri="library://rules")
    card = make(
        MCPReadResource, server_name="library", uri="library://book/{book_id}",
        values={"book_id": 14}, save_as=str(file),
    )  # fmt: skip
    play({}, listed, read, card)
    assert "library://rules" in [x["uri"] for x in listed.contents.value]
    assert "library://rules: " in listed.text.value
    assert read.text.value.startswith("# Rules of the library")
    assert read.contents.value[0]["mime_type"] == "text/markdown"
    assert card.files.value == [str(file)]
    assert file.read_text(encoding="utf-8") == card.text.value
    assert card.contents.value[0]["uri"] == "library://book/14"
    parts = [ResourcePart("x://1", text="caf\u00e9"), ResourcePart("x://2", data="iVBORw0KGgo=")]
    files = [Path(x) for x in save(parts, str(tmp_path / "page.bin"))]
    assert [x.name for x in files] == ["page.bin", "page-2.bin"]
    assert [x.read_bytes() for x in files] == ["caf\u00e9".encode(), b"\x89PNG\r\n\x1a\n"]
    with pytest.raises(CannotSave, match="Choose another `save_as`"):
        save(parts, str(file / "rules.md"))


def test_prompts_are_listed_and_filled_in_for_an_agent() -> None:
    listed = make(MCPGetPrompt, server_name="library")
    interest = {"reader_interest": ["whales", "caf\u00e9s"]}
    prompt = make(
        MCPGetPrompt, server_name="library", prompt_name="recommend_book", arguments=interest
    )
    play({}, listed, prompt)
    assert [x["name"] for x in listed.prompts.value] == ["recommend_book"]
    assert listed.text.value.startswith("recommend_book: ")
    assert [x["role"] for x in prompt.conversation.value] == ["user"]
    assert '["whales", "caf\u00e9s"]' in prompt.text.value, "what is no text is given as JSON"


def test_the_status_of_a_named_server_connects_it_and_a_problem_is_no_error() -> None:
    """A question about the state of a server gets an answer, not an error."""
    library, rest = make(MCPServerStatus, server_name="library"), make(MCPServerStatus)
    broken, half = (make(MCPServerStatus, server_name=x) for x in ("broken", "half"))
    play({}, library, rest, broken, half)
    assert [(x["name"], x["state"]) for x in library.status.value] == [("library", "ready")]
    states = {x["name"]: x["state"] for x in rest.status.value}
    idle, disabled = dict.fromkeys(("units", "broken"), "idle"), "disabled"
    assert states == {"library": "ready", **idle, "half": disabled, "off": disabled}
    assert "half: disabled" in rest.summary.value
    (failed,), (wrong,) = broken.status.value, half.status.value
    assert "no-such-program-anywhere" in failed["error"]
    assert failed["next_step"]
    assert (wrong["state"], "mcpServers.half" in wrong["error"]) == ("disabled", True)


def test_a_call_and_its_result_are_printed_unless_the_detail_is_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play({}, make(MCPListTools, server_name="library"), get_book(book_id=14))
    output = capsys.readouterr().out
    assert "-- library: 6 tools\n" in output
    assert "-> library.get_book(book_id=14)\n<- library.get_book (" in output
    monkeypatch.setenv("XAI_MCP_SHOW", "quiet")
    play({}, make(MCPListTools, server_name="library"), get_book(book_id=14), get_book(book_id=999))
    lines = [x for x in capsys.readouterr().out.splitlines() if x and "Executing:" not in x]
    assert lines[0].startswith("!! library, library.get_book: ")
    assert "\n".join(lines).count("!!") == 1


# Steps


def step(value: str, *results: Any) -> MCPToolStep:
    """A step that looks a book up."""
    ports = {"results": list(results)} if results else {}
    return make(MCPToolStep, call=f"library/get_book\nbook_id = {value}", **ports)


def test_a_step_uses_the_result_of_an_earlier_node_or_a_drawn_tool() -> None:
    ctx: dict[str, Any] = {}
    define_tool(ctx, None, "choose", "Chooses.", lambda *_: {"book": 14})
    search, other = make(MCPToolStep, call=SEARCH), make(MCPToolStep, call="canvas/choose")
    book, any_node = step("results[0].books[0].book_id", search.result), call(lambda _: 14)
    chosen, again = step("results[0].book", other.result), step("results[0]", any_node.result)
    play(ctx, search, book, other, chosen, any_node, again)
    assert book.result.value["title"] == search.result.value["books"][0]["title"]
    assert chosen.result.value["title"] == again.result.value["title"] == "Moby-Dick"
    with pytest.raises(UnknownTool, match=r"No tool 'chose' is drawn .* 'choose'"):
        play(ctx, make(MCPToolStep, call="canvas/chose"))


def test_a_step_that_cannot_be_made_stops_the_workflow_and_says_why() -> None:
    search = make(MCPToolStep, call=SEARCH)
    lacks = "get_book cannot be called: The result of library/search_books has no `id`; it has"
    for flow, error, words in (
        ([search, step("results[0].id", search.result)], BadSetting, lacks),
        ([step("999")], StepFailed, "library/get_book failed"),
        ([step("x")], BadSetting, r"`call` of MCPToolStep cannot be read. Line 2: `x`"),
        ([step("results[0]", VALUE_PLACEHOLDER)], BadSetting, "has no value: .*literal"),
    ):
        with pytest.raises(error, match=words):
            play({}, *flow)
    later = make(MCPToolStep, call=SEARCH)
    with pytest.raises(BadSetting, match=r"`results\[0\]` of MCPToolStep .* has not run yet"):
        play({}, step("results.x", later.result), later)


# Searching and explaining


def test_tools_are_found_in_all_servers_with_scores_and_reasons() -> None:
    node = make(MCPSearchTools, query="lend a book to a reader", limit=2)
    miles, none = (make(MCPSearchTools, query=x) for x in ("convert miles", "xylophone"))
    play({}, node, miles, none)
    assert (node.best_server.value, node.best.value) == ("library", "borrow_book")
    best, _ = node.found.value
    assert (best["server"], best["name"], best["score"]) == ("library", "borrow_book", 1)
    assert any("book" in x for x in best["reasons"])
    assert best["input_schema"]["properties"]
    assert "borrow_book(book_id: integer" in node.summary.value.splitlines()[0]
    assert miles.best_server.value == "units"
    assert re.search("Left out: .*no-such-program-anywhere", miles.summary.value, re.DOTALL)
    assert "off:" not in miles.summary.value, "it is switched off on purpose"
    assert (none.found.value, none.best.value, none.best_server.value) == ([], "", "")
    assert "MCPListTools" in none.summary.value


def test_a_toolbelt_is_searched_and_chosen_from_without_what_it_blocks() -> None:
    def look_up(*before: Any) -> tuple[set[str], MCPExplainTool]:
        belt = make(AgentMakeToolbelt)
        ports = {"toolbelt_spec": belt.toolbelt_spec}
        node = make(MCPSearchTools, query="book, miles", **ports)
        names = {"server_name": "library", "tool_name": "borrow_book"}
        explain = make(MCPExplainTool, **names, request="Lend a book to a reader.", **ports)
        play({}, *before, belt, node, explain)
        assert "Left out" not in node.summary.value
        return {x["name"] for x in node.found.value}, explain

    use = make(AgentUseMCPTools, server_name="library")
    names, chosen = look_up(use)
    assert "borrow_book" in names
    assert "convert_units" not in names
    assert chosen.is_chosen.value is chosen.choice.value["is_chosen"] is True
    assert "finds library/borrow_book first" in chosen.summary.value
    names, barred = look_up(use, make(AgentPreferTools, blocked="library/borrow*"))
    assert "borrow_book" not in names
    assert barred.is_chosen.value is False
    assert "cannot be chosen: it is blocked." in barred.summary.value


def test_a_found_tool_is_explained_and_its_example_can_be_called() -> None:
    """From words to a result, without a model."""
    search = make(MCPSearchTools, query="details of a book")
    best = {"server_name": search.best_server, "tool_name": search.best}
    explain = make(MCPExplainTool, **best)
    node = make(MCPCallTool, **best, arguments=explain.example)
    play({}, search, explain, node)
    assert explain.definition.value["signature"] == "get_book(book_id: integer)"
    assert not node.is_error.value
    assert "Example: get_book {" in explain.summary.value


def test_the_summary_says_that_the_search_by_meaning_was_not_possible(
    use_servers: UseServers, library: dict[str, Any]
) -> None:
    use_servers({"toolSearch": {"embeddings": {"folder": "nowhere"}}}, library=library)
    node = make(MCPSearchTools, query="lend a book")
    play({}, node)
    assert "Words alone count: the embedding model cannot be used." in node.summary.value


# The history


def test_the_history_is_reported_as_data_and_as_text() -> None:
    whole = make(MCPToolHistory, server_name="library", since="1h")
    newest, one = make(MCPToolHistory, limit=2), make(MCPToolHistory, tool_name="get_book", limit=1)
    failed, earlier = make(MCPToolHistory, failed=True), make(MCPToolHistory, until="1h")
    matching = make(MCPToolHistory, text_in_it="There is no BOOK 9999")
    unused, closed = (make(MCPToolHistory, server_name=x) for x in ("broken", "library"))
    ctx: dict[str, Any] = {}
    with suppress(XaiMcpError):
        play(ctx, get_book(book_id=14), get_book(book_id=9999))
    play(ctx, whole, newest, one, failed, matching, earlier, unused)
    bridge_of(ctx).disconnect("library")
    play(ctx, closed)
    changes = [x["change"] for x in whole.events.value]
    assert (changes[0], changes.count("called")) == ("connected", 2)
    assert "library.get_book: called by MCPCallTool" in whole.text.value
    tools = {x["name"]: x for x in closed.tools.value}
    assert (tools["get_book"]["calls"], tools["get_book"]["state"]) == (2, "at rest")
    assert "get_book: 2 calls, " in closed.status.value
    assert len(newest.events.value) == 2
    assert newest.text.value.splitlines()[-1].startswith("2 events. Older ones are left out: ")
    assert [x["change"] for x in one.events.value] == ["called"]
    assert [x["change"] for x in failed.events.value] == ["called"]
    assert matching.events.value == failed.events.value
    assert earlier.events.value == []
    assert (unused.events.value, unused.text.value) == ([], "There is no history yet.")


def test_a_refresh_lists_the_tools_and_their_changes() -> None:
    first, again = make(MCPRefreshTools), make(MCPRefreshTools, server_name="library", force=True)
    history = make(MCPToolHistory, tool_name="get_book")
    play({}, first, again, history)
    assert {x["server"] for x in first.tools.value} == {"library", "units"}
    assert {x["how"] for x in first.changes.value} == {"added"}
    assert "library: 6 tools, listed for the first time" in first.text.value
    assert "broken: " in first.text.value
    assert again.changes.value == []
    assert "nothing changed since" in again.text.value
    assert history.events.value[-1]["change"] == "confirmed"


def test_without_a_place_for_the_history_the_workflow_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XAI_MCP_STORE", str(tmp_path / "taken" / "history.db"))
    history, refresh = make(MCPToolHistory), make(MCPRefreshTools)
    play({}, get_book(book_id=14), history, refresh)
    assert history.events.value == history.tools.value == []
    assert history.text.value.startswith("The history in ")
    assert history.status.value.startswith("The history in ")
    assert "The changes are unknown" in refresh.text.value
