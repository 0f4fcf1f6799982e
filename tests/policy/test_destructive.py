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


def listed(name: str, annotations: dict[str, bool] | None = None) -> dict[str, Any]:
    """A tool as a server lists it."""
    said = {} if annotations is None else {"annotations": annotations}
    return {"name": name, "description": "", "inputSchema": {"type": "object"}, **said}


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


def asked_for(settings: dict[str, Any], source: str = "shop", **more: Any) -> set[str]:
    """The tools of whose calls a person is asked; all else is called."""
    asked = set[str]()

    def approve(request: ApprovalRequest) -> str:
        asked.add(request.tool)
        return "no"

    with Bridge(settings, approve=approve) as bridge:
        result = run_all(bridge, source, **more)
    assert sum(x.result.is_error for x in result.calls) == len(asked)
    return asked


def shop(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Settings with one server."""
    return {"mcpServers": {"shop": {**entry(tools=[*tools]), **more}}}


def test_a_tool_that_says_nothing_is_asked_for_if_its_name_begins_with_a_destructive_verb():
    harmless = ("deleted_items", "dropdown_options", "add_drop", "undelete", "wiper_status")
    names = (
        *(f"{x}_everything" for x in DESTRUCTIVE_VERBS),
        "deleteEverything", "DELETEFile", "Delete-All", "DELETE_ALL", "delete", "remove.user",
        "d\u0435lete_it",
    )  # fmt: skip
    tools = [listed(x) for x in (*names, *harmless)]
    assert asked_for(shop(*tools)) == set(names)


def test_what_a_tool_says_of_its_effects_counts_more_than_its_name():
    tools = (
        listed("delete_view", READS),
        listed("delete_draft", SAFE),
        listed("delete_all", WRITES),
        listed("tidy", {"destructiveHint": True}),
    )
    assert asked_for(shop(*tools)) == {"delete_all", "tidy"}


def test_a_function_of_the_agent_itself_is_not_asked_for():
    def delete_note() -> str:
        """Delete a note."""
        return "deleted"

    assert asked_for(shop(listed("look", READS)), own=[delete_note]) == set()


@pytest.mark.parametrize("is_general", [True, False], ids=["of the file", "of a source"])
def test_a_word_asks_for_all_that_is_not_said_to_be_read_only(is_general: bool):
    word = {"approval": "ask_unless_read_only"}
    both = {"readOnlyHint": True, "destructiveHint": True}
    tools = (listed("a", READS), listed("b"), listed("c", SAFE), listed("d", WRITES))
    settings = shop(*tools, listed("e", both), **({} if is_general else word))
    settings |= word if is_general else {}
    assert asked_for(settings) == {"b", "c", "d", "e"}


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ({}, {"delete_order"}),
        ({"approval": {"method:PUT": "ask", "method:patch": "ask"}},
         {"put_order", "patch_order", "delete_order"}),
    ],
    ids=["default", "put and patch"],
)  # fmt: skip
def test_methods_of_a_service_are_asked_for_as_its_settings_say(
    tmp_path: Path, written: dict[str, Any], asked: set[str]
):
    methods = ("get", "post", "put", "patch", "delete")
    made = {x: {"operationId": f"{x}_order", "responses": {"200": {"description": ""}}}
            for x in methods}  # fmt: skip
    with http_service() as service:
        service.replies["*"] = lambda _: as_json({})
        document = {
            "openapi": "3.1.0", "info": {"title": "shop", "version": "1"},
            "servers": [{"url": service.url}], "paths": {"/order": made},
        }  # fmt: skip
        spec = tmp_path / "shop.json"
        spec.write_text(json.dumps(document))
        entry = {"spec": str(spec), **written}
        settings = {"mcpServers": {}, "openapiServices": {"shop": entry}}
        assert asked_for(settings) == asked
        sent = {x.method for x in service.got}
    assert sent == {x.upper() for x in methods if f"{x}_order" not in asked}


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
