"""No spelling of a tool's name gets it past a list that holds calls back. Decided by us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from tests.support.fault_server import entry
from tests.support.journals import calls_in
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from xai_mcp_agent import Agent, AgentModel, Bridge
from xai_mcp_agent.core.patterns import guard, looks, pieces

ALIKE = (
    "del",
    "Del",
    "DEL",
    "d\u0435l",
    "del\n",
    "d\u200bel",
    "\x1bdel",
    "d\nel",
    "d el",
    "d\u2028el",
    "del\x00",
    "\uff44\uff45\uff4c",
    " del ",
)
NEVER: dict[str, Any] = {"then": "deny"}
HOLDING: dict[str, dict[str, Any]] = {
    "off": {},
    "blocked": {"toolSearch": {"blocked": ["del"]}},
    "blocked expression": {"toolSearch": {"blocked": ["regex:d.l"]}},
    "approval": {"approval": {"DEL": "deny"}},
    "disabledTools": {"entry": {"disabledTools": ["del"]}},
    "rule with a pattern": {"rules": [NEVER | {"when": {"tool": "*Del*"}}]},
}

_WRITTEN = st.text(st.sampled_from("dDeElL\u0435\uff44 _-./\n\u200b"), max_size=6)


@for_all(st.lists(_WRITTEN, min_size=1, max_size=3).map("*".join), st.lists(_WRITTEN).map("".join))
def test_a_name_that_is_held_has_a_piece_of_the_pattern(pattern: str, name: str):
    """Rules are looked up by these pieces: none may be passed over."""
    for held in (name, pattern.replace("*", name)):
        if guard(pattern)(held):
            assert any(x in "".join(looks((held,))) for x in pieces(pattern))


def listed(name: str, **more: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": "", "inputSchema": {"type": "object"}, **more}


def called(folder: Path, written: dict[str, Any], *names: str, given: Any = None) -> int:
    """How many calls reach the server of an agent that calls each tool it is shown.

    And, as a model may, each by a name it was not shown.
    """
    journal, written = folder / "journal", dict(written)
    shop = entry(tools=[listed(x) for x in (*names, "look")], journal=str(journal))
    shop |= written.pop("entry", {})
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shop": shop}, **written}))

    def call_all(body: dict[str, Any]) -> Step:
        if body["messages"][-1]["role"] == "tool":
            return says("done")
        shown = [x["function"]["name"] for x in body["tools"]]
        unshown = [f"shop_{x}" for x in names if f"shop_{x}" not in shown]
        mine = [x for x in shown if x.startswith("shop_") and x != "shop_look"]
        return calls(*((x, given or {}) for x in (*mine, *unshown)), ("shop_look", {}))

    with Bridge.open(file) as bridge, model_endpoint(call_all) as endpoint:
        model = AgentModel(provider="openai", name="m", base_url=endpoint.base_url, api_key="sk-x")
        Agent(bridge, ["shop"], model=model).run("Call all.")
    assert calls_in(journal) >= 1, "look is called"
    return calls_in(journal) - 1


@pytest.mark.parametrize("written", HOLDING.values(), ids=HOLDING)
def test_no_spelling_gets_past_a_list(tmp_path: Path, written: dict[str, Any]):
    if not written:
        lock = {"sources": {"mcp:shop": {"off": ["del"]}}}
        (tmp_path / "mcp_tools.lock.json").write_text(json.dumps(lock))
    assert called(tmp_path, written, *ALIKE) == 0


LETTING: dict[str, dict[str, Any]] = {
    "approval": {"approval": {"*": "deny", "del": "allow"}},
    "rule that excepts": {
        "rules": [NEVER | {"when": {"tool": "d*"}, "unless": {"tool": "del"}}],
    },
    "rule for all others": {"rules": [NEVER | {"when": {"tool": ["not del", "not look"]}}]},
}


@pytest.mark.parametrize("written", LETTING.values(), ids=LETTING)
def test_what_only_looks_like_an_allowed_name_is_not_allowed(
    tmp_path: Path, written: dict[str, Any]
):
    """`look` is allowed by its name, where all is denied."""
    if "*" in written.get("approval", {}):
        written = {"approval": {**written["approval"], "look": "allow"}}
    assert called(tmp_path, written, *ALIKE) == 1


@pytest.mark.parametrize(
    "rule",
    [
        {"when": {"args.sql": "regex:.*drop.*"}, "then": "deny"},
        {"when": {"args.sql": "regex:select.*drop"}, "then": "allow"},
    ],
    ids=["deny", "allow"],
)
def test_a_line_break_in_an_argument_gets_past_no_rule(tmp_path: Path, rule: dict[str, Any]):
    written = {"rules": [rule, {"when": {"tool": "run"}, "then": "ask"}]}
    assert called(tmp_path, written, "run", given={"sql": "select\ndrop"}) == 0
