"""Approvals that came with somebody else's folder let nothing through before this user agreed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.policy.test_approvals import Clerk, agent, shred
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import Bridge, load_settings
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.policy.approval_trust import approvals_in
from xai_mcp_agent.settings.trust import TrustStore

LOCK = "mcp_tools.lock.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose settings this user agreed to; somebody approved `shred` in it for good."""
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("XAI_MCP_TRUST")
    clone = tmp_path / "clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    file = clone / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shredder": shredder_entry()}}), encoding="utf-8")
    TrustStore().agree(load_settings(file))
    with Bridge.open(file, approve=Clerk("always")) as bridge:
        shred(bridge, agent())
    assert '"approved"' in (clone / LOCK).read_text(encoding="utf-8")
    return clone


def trust(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(["trust", *words])
    return int(ended.value.code or 0)


def test_what_somebody_else_approved_is_asked_for(folder: Path) -> None:
    clerk = Clerk("no", "once")
    with Bridge(approve=clerk) as bridge:
        assert "was not approved" in shred(bridge, agent())
        assert shred(bridge, agent()) == "shredded contract"
        assert [x.counts for x in bridge.approvals()] == [False]
    assert len(clerk.asked) == 2


def test_a_word_for_any_definition_counts_no_more(folder: Path) -> None:
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    lock["sources"]["mcp:shredder"]["approved"] = {"shred": "always"}
    (folder / LOCK).write_text(json.dumps(lock), encoding="utf-8")
    with Bridge(approve=Clerk("no")) as bridge:
        assert "was not approved" in shred(bridge, agent())


def test_who_agrees_to_the_folder_agrees_to_what_was_approved(folder: Path, capsys: Any) -> None:
    assert trust("--yes") == 0
    assert "approved: mcp:shredder/shred" in capsys.readouterr().out
    clerk = Clerk()
    with Bridge(approve=clerk) as bridge:
        assert shred(bridge, agent()) == "shredded contract"
    assert not clerk.asked
    lock = (folder / LOCK).read_text(encoding="utf-8")
    (folder / LOCK).write_text(lock.replace('"shred"', '"count"'), encoding="utf-8")
    assert [
        x.key_path
        for x in TrustStore().untrusted_parts(load_settings(), approvals_in(load_settings()))
    ] == ["approved: mcp:shredder/count"]


def test_what_this_user_approves_counts_until_it_is_withdrawn(folder: Path) -> None:
    with Bridge(approve=Clerk("always")) as bridge:
        shred(bridge, agent())
    lock = (folder / LOCK).read_text(encoding="utf-8")
    with Bridge() as bridge:
        assert shred(bridge, agent()) == "shredded contract"
    with pytest.raises(SystemExit):
        run(["tools", "approve", "shredder", "shred", "--withdraw"])
    (folder / LOCK).write_text(lock, encoding="utf-8")
    with Bridge() as bridge:
        assert "nobody could be asked" in shred(bridge, agent())
