"""What slips, models and strangers' servers try so that a rule does not hold what it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.policy.test_rules import agent, said, shred, tool, written
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import Bridge, SettingsError, settings_from


def test_what_is_nearly_a_condition_is_no_text_that_never_fits() -> None:
    """Such a rule would be there, and deny nothing."""
    cases: list[tuple[dict[str, str], str]] = [
        ({"day": "sat, sun"}, "not a day"),
        ({"day": "mon-tue-sun"}, "not a day"),
        ({"day": "monkey"}, "not a day"),
        ({"time": "08:00-08:00"}, "not a valid time"),
        ({"time": "22:00-24:30"}, "not a valid time"),
        ({"args.n": "> 1,000"}, "not a valid comparison"),
        ({"args.n": "> 5 EUR"}, "not a valid comparison"),
        ({"args.n": "== 5"}, "not a valid comparison"),
        ({"args.n": "not >= many"}, "not a valid comparison"),
        ({"args.path": "Outside /desk"}, "looks like a condition with 'outside'"),
        ({"args.path": "inside"}, "looks like a condition with 'inside'"),
        ({"agent": "NOT coder"}, "looks like a condition with 'not'"),
        ({"agent": "not not coder"}, "looks like a condition with 'not'"),
        ({"agent": "not\tcoder"}, "looks like a condition with 'not'"),
    ]
    for when, says in cases:
        with pytest.raises(SettingsError, match=says):
            written([{"when": when, "then": "deny"}])


def test_a_path_that_some_server_takes_out_of_a_folder_is_not_inside_of_it() -> None:
    cases: list[str] = [
        " /etc/passwd",
        " file:///etc/passwd",
        "FILE:///etc/passwd",
        "file://localhost/etc/passwd",
        "file:/desk/x?/../../etc/passwd",
        "file://[",
        "..\\..\\etc\\passwd",
        "https://example.org/x",
        "//etc/passwd",
    ]
    for path in cases:
        outside = [{"when": {"args.path": "outside /desk"}, "then": "deny"}]
        assert said(outside, tool("files", "write", "path"), {"path": path}).word == "deny"
        allowed = [{"when": {"args.path": "inside /desk"}, "then": "allow"}]
        assert said(allowed, tool("files", "write", "path"), {"path": path}).word == ""


def test_a_path_that_some_server_takes_into_a_folder_is_not_outside_of_it() -> None:
    for path in ("/etc/passwd ", "\\etc\\passwd", "file:///etc/passwd?x", "//etc/x"):
        inside = [{"when": {"args.path": "inside /etc"}, "then": "deny"}]
        assert said(inside, tool("files", "read", "path"), {"path": path}).word == "deny"


def test_a_value_is_not_another_for_being_written_differently() -> None:
    cases: list[tuple[Any, Any, str]] = [
        (5, "5", "deny"),
        (5, " 5.0", "deny"),
        (5, "six", ""),
        (True, "True", "deny"),
        (True, False, ""),
        ("5", 5.0, "deny"),
        ("is 5", 5.0, "deny"),
        (1, True, ""),
    ]
    for wanted, value, word in cases:
        rules = [{"when": {"args.n": wanted}, "then": "deny"}]
        assert said(rules, tool("x", "work"), {"n": value}).word == word


def test_a_tool_is_not_let_through_for_a_name_like_that_of_another_source() -> None:
    """Any server may call a tool so."""
    cases: list[str] = ["files/read", "files.read"]
    for name in cases:
        rules = [{"when": {"tool": name}, "then": "allow"}]
        assert said(rules, tool("files", "read")).word == "allow"
        assert said(rules, tool("stranger", name)).word == ""
        assert (
            said([{"when": {"tool": name}, "then": "deny"}], tool("stranger", name)).word == "deny"
        )
        others = [{"when": {"tool": f"not {name}"}, "then": "deny"}]
        assert said(others, tool("stranger", name)).word == "deny"
        assert said(others, tool("files", "read")).word == ""


@pytest.mark.parametrize("key", ["ruels", "Rules", "policies", "toolRules"])
def test_rules_under_a_wrong_name_are_not_passed_over(key: str) -> None:
    rules = [{"when": {"server": "mail"}, "then": "deny"}]
    with pytest.raises(SettingsError, match="Rename it to 'rules'"):
        settings_from({"mcpServers": {}, key: rules})


def test_a_file_of_rules_that_goes_while_a_bridge_is_open_takes_no_rule_along(
    tmp_path: Path,
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {when: {tool: shred}, then: deny}", encoding="utf-8")
    told = {"mcpServers": {"shredder": shredder_entry()}, "rules": str(rules)}
    with Bridge(told) as bridge:
        for after in ("- {when: {", "[]", None):
            rules.write_text(after, encoding="utf-8") if after else rules.unlink()
            assert "does not allow it" in shred(bridge, agent(), paper="contract")
    with pytest.raises(SettingsError, match="no file"):
        Bridge(told)
