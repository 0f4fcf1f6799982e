"""The nodes that use a server without a model, against the example library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import make, play
from xai_mcp_agent import (
    InvalidArguments,
    ResourcePart,
    UnknownServer,
    UnknownTool,
)
from xai_mcp_agent.canvas.servers import CannotSave, save
from xai_mcp_agent.mcp_components import (
    MCPCallTool,
    MCPGetPrompt,
    MCPListTools,
    MCPReadResource,
    MCPServerStatus,
)

from .conftest import UseServers


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any]) -> None:
    broken, off = {"command": "no-such-program-anywhere"}, {**library, "disabled": True}
    use_servers(library=library, broken=broken, half={}, off=off)


def test_tools_are_listed_as_data_and_to_read() -> None:
    node = make(MCPListTools, server_name="library")
    play({}, node)
    assert [x["name"] for x in node.tools.value][:2] == ["search_books", "get_book"]
    assert node.tools.value[0]["input_schema"]["required"] == ["query"]
    assert "search_books(query: string" in node.summary.value.splitlines()[0]


def get_book(**arguments: Any) -> MCPCallTool:
    return make(MCPCallTool, server_name="library", tool_name="get_book", arguments=arguments)


def test_a_call_gives_text_data_and_parts_and_the_tools_own_error_is_a_result() -> None:
    node, missing = get_book(book_id=14), get_book(book_id=999)
    play({}, node, missing)
    assert "Moby-Dick" in node.text.value
    assert node.structured.value["title"] == "Moby-Dick"
    assert [part["kind"] for part in node.parts.value] == ["text"]
    assert (node.is_error.value, missing.is_error.value) == (False, True)
    assert "There is no book 999" in missing.text.value
    with pytest.raises(InvalidArguments, match="book_id"):
        play({}, get_book(book_id="x"))
    with pytest.raises(UnknownTool, match="search_books"):
        play({}, make(MCPCallTool, server_name="library", tool_name="serch_books"))


@pytest.mark.parametrize(
    "component", [MCPListTools, MCPReadResource, MCPGetPrompt, MCPServerStatus]
)
def test_an_unknown_server_is_an_error_that_names_the_known_nearest_first(component: type) -> None:
    with pytest.raises(UnknownServer, match=r"(?s)'librery'.*library.*broken"):
        play({}, make(component, server_name="librery"))


def test_resources_are_listed_and_read() -> None:
    listed = make(MCPReadResource, server_name="library")
    read = make(MCPReadResource, server_name="library", uri="library://rules")
    play({}, listed, read)
    assert "library://rules" in [x["uri"] for x in listed.contents.value]
    assert "library://rules: " in listed.text.value
    assert read.text.value.startswith("# Rules of the library")
    assert read.contents.value[0]["mime_type"] == "text/markdown"


def test_a_template_is_filled_in_and_what_was_read_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "books" / "card.json"
    card = make(
        MCPReadResource,
        server_name="library",
        uri="library://book/{book_id}",
        values={"book_id": 14},
        save_as=str(file),
    )
    play({}, card)
    assert card.files.value == [str(file)]
    assert file.read_text(encoding="utf-8") == card.text.value
    assert card.contents.value[0]["uri"] == "library://book/14"


def test_a_template_without_its_values_and_a_place_that_cannot_be_written_are_reported(
    tmp_path: Path,
) -> None:
    template, plain = "library://book/{book_id}", "library://rules"
    with pytest.raises(InvalidArguments, match="book_id is missing"):
        play({}, make(MCPReadResource, server_name="library", uri=template))
    (tmp_path / "file").write_text("x")
    taken = str(tmp_path / "file" / "rules.md")
    with pytest.raises(CannotSave, match="Choose another `save_as`"):
        play({}, make(MCPReadResource, server_name="library", uri=plain, save_as=taken))


def test_several_contents_are_saved_to_as_many_files(tmp_path: Path) -> None:
    parts = [ResourcePart("x://1", text="caf\u00e9"), ResourcePart("x://2", data="iVBORw0KGgo=")]
    files = [Path(x) for x in save(parts, str(tmp_path / "page.bin"))]
    assert [x.name for x in files] == ["page.bin", "page-2.bin"]
    assert [x.read_bytes() for x in files] == ["caf\u00e9".encode(), b"\x89PNG\r\n\x1a\n"]


def test_prompts_are_listed_and_filled_in_for_an_agent() -> None:
    listed = make(MCPGetPrompt, server_name="library")
    filled = make(
        MCPGetPrompt,
        server_name="library",
        prompt_name="recommend_book",
        arguments={"reader_interest": ["whales", "caf\u00e9s"]},
    )
    play({}, listed, filled)
    assert [x["name"] for x in listed.prompts.value] == ["recommend_book"]
    assert listed.text.value.startswith("recommend_book: ")
    assert [x["role"] for x in filled.conversation.value] == ["user"]
    assert '["whales", "caf\u00e9s"]' in filled.text.value, "what is no text is given as JSON"


def test_the_status_of_a_named_server_connects_it_and_a_problem_is_no_error() -> None:
    """Whoever asks how a server does wants an answer, not an error."""
    library, rest = make(MCPServerStatus, server_name="library"), make(MCPServerStatus)
    broken, half = (make(MCPServerStatus, server_name=x) for x in ("broken", "half"))
    play({}, library, rest, broken, half)
    assert [(x["name"], x["state"]) for x in library.status.value] == [("library", "ready")]
    states = {x["name"]: x["state"] for x in rest.status.value}
    assert states == {"library": "ready", "broken": "idle", "half": "disabled", "off": "disabled"}
    assert "half: disabled" in rest.summary.value
    (failed,), (wrong,) = broken.status.value, half.status.value
    assert failed["state"] not in ("ready", "idle")
    assert "no-such-program-anywhere" in failed["error"]
    assert failed["next_step"]
    assert (wrong["state"], "mcpServers.half" in wrong["error"]) == ("disabled", True)


def test_a_call_and_what_came_of_it_is_printed_unless_it_should_be_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play({}, make(MCPListTools, server_name="library"), get_book(book_id=14))
    printed = capsys.readouterr().out
    assert "-- library: 6 tools\n" in printed
    assert "-> library.get_book(book_id=14)\n<- library.get_book (" in printed
    monkeypatch.setenv("XAI_MCP_SHOW", "quiet")
    nodes = [get_book(book_id=14), get_book(book_id=999)]
    play({}, make(MCPListTools, server_name="library"), *nodes)
    lines = [x for x in capsys.readouterr().out.splitlines() if x and "Executing:" not in x]
    assert lines[0].startswith("!! library, library.get_book: ")
    assert "\n".join(lines).count("!!") == 1
