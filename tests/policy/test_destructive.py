"""Which calls are asked for where the settings say nothing, and what a refused run says."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import entry
from tests.support.http_service import as_json, http_service
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from xai_mcp_agent import Agent, AgentModel, ApprovalRequest, Bridge
from xai_mcp_agent.policy.approvals import DESTRUCTIVE_VERBS

READS, WRITES, SAFE = {"readOnlyHint": True}, {"readOnlyHint": False}, {"destructiveHint": False}
DESTROYS = {"destructiveHint": True}


def listed(name: str, annotations: dict[str, bool] | None = None) -> dict[str, Any]:
    """A tool as a server lists it."""
    annotated = {} if annotations is None else {"annotations": annotations}
    return {"name": name, "description": "", "inputSchema": {"type": "object"}, **annotated}


def run_all(bridge: Bridge, source: str, *, own: Sequence[Any] = ()) -> Any:
    """An agent calls each of its tools once."""

    def call_all(body: dict[str, Any]) -> Step:
        if body["messages"][-1]["role"] == "tool":
            return says("done")
        shown = [x["function"]["name"] for x in body["tools"]]
        mine = [x for x in shown if x.startswith(f"{source}_") or x in {y.__name__ for y in own}]
        return calls(*((x, {}) for x in mine))

    with model_endpoint(call_all) as endpoint:
        model = AgentModel(provider="openai", name="m", base_url=endpoint.base_url, api_key="sk-x")
        return Agent(bridge, [source, *own], model=model).run("Call all.")


def asked_for(settings: dict[str, Any], **more: Any) -> set[str]:
    """The tools of whose calls a person is asked; all else is called."""
    asked = set[str]()

    def approve(request: ApprovalRequest) -> str:
        asked.add(request.tool)
        return "no"

    with Bridge(settings, approve=approve) as bridge:
        result = run_all(bridge, "shop", **more)
    assert sum(x.result.is_error for x in result.calls) == len(asked)
    return asked


def shop(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Settings with one server."""
    return {"mcpServers": {"shop": {**entry(tools=[*tools]), **more}}}


def test_a_tool_is_asked_for_if_it_says_that_it_destroys_or_only_its_name_does():
    """What it says of its effects counts more than its name; a function of the agent is its own."""

    def delete_note() -> str:
        """Delete a note."""
        return "deleted"

    names = {
        *(f"{x}_everything" for x in DESTRUCTIVE_VERBS),
        "deleteEverything", "DELETEFile", "Delete-All", "DELETE_ALL", "delete", "remove.user",
        "d\u0435lete_it",
    }  # fmt: skip
    harmless = ("deleted_items", "dropdown_options", "add_drop", "undelete", "wiper_status")
    annotated = {"delete_view": READS, "delete_draft": SAFE, "delete_one": WRITES, "tidy": DESTROYS}
    tools = [listed(x) for x in (*sorted(names), *harmless)]
    tools += [listed(*x) for x in annotated.items()]
    assert asked_for(shop(*tools), own=[delete_note]) == {*names, "delete_one", "tidy"}


@pytest.mark.parametrize("is_general", [True, False], ids=["of the file", "of a source"])
def test_a_word_asks_for_all_that_is_not_said_to_be_read_only(is_general: bool):
    word = {"approval": "ask_unless_read_only"}
    tools = [listed("a", READS), listed("b"), listed("c", SAFE), listed("d", WRITES)]
    tools += [listed("e", READS | DESTROYS)]
    settings = shop(*tools) | word if is_general else shop(*tools, **word)
    assert asked_for(settings) == {"b", "c", "d", "e"}


def test_methods_of_a_service_are_asked_for_as_its_settings_say(tmp_path: Path):
    methods = ("get", "post", "put", "patch", "delete")
    operations = {x: {"operationId": x, "responses": {"200": {"description": ""}}} for x in methods}
    words = {"approval": {"method:PUT": "ask", "method:patch": "ask"}}
    for written, asked in (({}, {"delete"}), (words, {"put", "patch", "delete"})):
        with http_service() as service:
            service.replies["*"] = lambda _: as_json({})
            document = {
                "openapi": "3.1.0", "info": {"title": "shop", "version": "1"},
                "servers": [{"url": service.url}], "paths": {"/order": operations},
            }  # fmt: skip
            (tmp_path / "shop.json").write_text(json.dumps(document))
            services = {"shop": {"spec": str(tmp_path / "shop.json"), **written}}
            assert asked_for({"mcpServers": {}, "openapiServices": services}) == asked
            assert {x.method.lower() for x in service.got} == {*methods} - asked


LINE = re.compile(r'write "approval": (\{.*?\}) under mcpServers\.shop of the settings')


def test_unattended_it_is_refused_with_the_line_that_allows_it_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CI", "1")
    file = tmp_path / "mcp_settings.json"
    settings = shop(listed("delete_everything"), listed("look"))
    file.write_text(json.dumps(settings))
    with Bridge.open(file) as bridge:
        result = run_all(bridge, "shop")
    assert (result.stopped, result.answer) == ("answered", "done")
    assert [x.result.is_error for x in result.calls] == [True, False]
    (note,) = (x for x in result.notes if "delete_everything" in x)
    assert "its name begins with 'delete'" in note
    line = LINE.search(note)
    assert line is not None
    settings["mcpServers"]["shop"]["approval"] = json.loads(line[1])
    file.write_text(json.dumps(settings))
    with Bridge.open(file) as bridge:
        result = run_all(bridge, "shop")
    assert [x.result.is_error for x in result.calls] == [False, False]
