"""The rules on docs/decisions.md can be read and do what the page says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from tests.support.pages import ROOT, blocks_of
from xai_mcp_agent import settings_from
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.policy.conditions import Facts
from xai_mcp_agent.policy.rulebook import RuleBook
from xai_mcp_agent.settings.conditions import FIELDS

PAGE = ROOT / "docs" / "decisions.md"


def test_the_rules_on_the_page_can_be_read(tmp_path: Path):
    blocks = [x for x in blocks_of(PAGE) if x.language == "yaml"]
    assert len(blocks) == 2
    for block in blocks:
        (tmp_path / "rules.yaml").write_text(block.text, encoding="utf-8")
        loaded = settings_from({"mcpServers": {}, "rules": "rules.yaml"}, folder=tmp_path)
        assert len(loaded.rules) >= 5


def test_the_rule_on_the_page_also_checks_a_second_address_in_a_text(tmp_path: Path):
    examples = [x for x in blocks_of(PAGE) if x.language == "yaml"][-1].text
    (tmp_path / "rules.yaml").write_text(examples, encoding="utf-8")
    loaded = settings_from({"mcpServers": {}, "rules": "rules.yaml"}, folder=tmp_path).rules
    rules = RuleBook(loaded, str)
    mail, words = Tool(ToolKey("mcp", "mail", "send_mail"), "", {}), list[str]()
    for to in ("a@example.org", "a@example.com", "thief@example.com, a@example.org", ["a@b.c"]):
        facts = Facts(mail, Caller("agent"), {"to": to}, datetime(2026, 11, 23))
        words.append(rules.ruling(facts).word)
    assert words == ["", "deny", "deny", "deny"]


def test_every_condition_of_a_rule_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert [x for x in FIELDS if f"`{x}`" not in text] == []
