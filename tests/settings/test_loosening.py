"""What held calls back when somebody agreed to a settings file does not go away unasked.

Who decided it: attacks after a yes, in which a pulled change took away rules, blocks and approvals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.policy.shredding import agent, shred
from xai_mcp_agent import Bridge, SettingsError, load_settings
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.settings.load import settings_from
from xai_mcp_agent.settings.trust import TrustStore, without_untrusted

SERVER = {"command": "python", "args": ["server.py"]}
Document = dict[str, Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who has agreed to nothing yet."""
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("XAI_MCP_TRUST", "XAI_MCP_SETTINGS", "XAI_MCP_RECORD"):
        monkeypatch.delenv(name, raising=False)


def write(folder: Path, document: Document) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "mcp_settings.json"
    entries = document.get("mcpServers", {"one": SERVER})
    file.write_text(json.dumps({**document, "mcpServers": entries}), encoding="utf-8")
    return file


def trust(capsys: pytest.CaptureFixture[str], file: Path, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        run(["trust", str(file), *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out + err


def rule(then: Any, **when: Any) -> Document:
    return {"when": when or {"tool": "delete_*"}, "then": then}


def rules(*written: Any) -> Document:
    return {"rules": list(written)}


def blocked(*names: str, **groups: list[str]) -> Document:
    return {"toolSearch": {"blocked": list(names), "groups": groups}}


def group(**written: Any) -> Document:
    return {"groups": {"mine": {"selectors": [{"source": "one"}], **written}}}


def entry(**written: Any) -> Document:
    return {"mcpServers": {"one": {**SERVER, **written}}}


INTERNAL = rule({"is": "internal"}, server="a")
BY_WORD = rule("deny", **{"is": "not internal"})

LOOSENED: dict[str, tuple[Document, Document, str]] = {
    "a deny rule removed": (
        rules(rule("deny")), {},
        "rule `deny tool fits 'delete_*'` is removed or weakened: calls it refused are now made",
    ),
    "an ask rule removed": (
        rules(rule("ask")), rules(),
        "rule `ask tool fits 'delete_*'` is removed or weakened: "
        "calls it asked about are now made unasked",
    ),
    "deny turned into ask": (rules(rule("deny")), rules(rule("ask")), "rule `deny tool fits"),
    "a rule about less": (
        rules(rule("deny")), rules(rule("deny", tool="delete_all")), "rule `deny tool fits",
    ),
    "a rule with an exception": (
        rules(rule("deny")), rules({**rule("deny"), "unless": {"agent": "x"}}), "rule `deny tool",
    ),
    "a higher limit": (
        rules(rule({"limit": "5 a day"})), rules(rule({"limit": "50 a day"})),
        "rule `at most 5 a day tool fits 'delete_*'` is removed or weakened: "
        "more calls are now made",
    ),
    "another meaning of a rule's word": (
        rules(INTERNAL, BY_WORD), rules({**INTERNAL, "when": {"server": "*"}}, BY_WORD),
        "rule `deny is is not 'internal'` is removed or weakened",
    ),
    "a rule that allows": (
        {}, rules(rule("allow")),
        "rule `allow tool fits 'delete_*'`: these calls are made without your approval",
    ),
    "the rules of the store": (
        rules({"from": "store", "revision": 3}), rules({"from": "store"}),
        "the rules of the store are not used any more, or older ones may be",
    ),
    "nothing blocked": (
        blocked("shell"), {}, "`shell` is blocked no longer: agents may see and call it",
    ),
    "less in a blocked group": (
        blocked("g", g=["a", "b"]), blocked("g", g=["a"]), "`b` is blocked no longer",
    ),
    "less in a blocked group of tools": (
        {**blocked("mine"), **group()}, {**blocked("mine"), **group(exclude=["rm"])},
        "`mine: source one` is blocked no longer",
    ),
    "no word of approval": (
        {"approval": "ask"}, {},
        "`approval` of `*` was `ask`, and is removed or weakened: "
        "calls it asked about are now made unasked",
    ),
    "a weaker word": (
        {"approval": {"x": "deny"}}, {"approval": {"x": "ask"}}, "`approval` of `x` was `deny`",
    ),
    "a word that allows": (
        {"approval": "ask"}, {"approval": {"*": "ask", "x": "allow"}},
        "called without your approval: x",
    ),
    "a word that only asks beside one that denies": (
        {"approval": {"del*": "deny"}}, {"approval": {"del*": "deny", "delete": "ask"}},
        "called after your approval only: delete",
    ),
    "a word for what only reads beside one that asks": (
        {"approval": "ask"}, {"approval": {"*": "ask", "get_*": "ask_unless_read_only"}},
        "called without your approval where it only reads: get_*",
    ),
    "a word of an entry": (
        entry(approval={"x": "ask"}), entry(), "`approval` of `x` was `ask`",
    ),
    "tools of an entry that were off": (
        entry(disabledTools=["rm"]), entry(), "`rm` is switched off no longer",
    ),
    "an entry that was locked": (entry(lock=True), entry(lock="first"), "`lock` is removed or"),
    "a wider group": (
        group(), group(include=["two/rm"]), "has the tools with name rm and source two",
    ),
    "a group that leaves out less": (
        group(exclude=["rm"]), group(), "`rm` is excluded no longer",
    ),
    "more is recorded": (
        {"record": ["arguments"]}, {"record": ["arguments", "results"]},
        "the history keeps the results of calls",
    ),
}  # fmt: skip

TIGHTENED: dict[str, tuple[Document, Document]] = {
    "a server that runs need": (entry(), entry(required=True)),
    "a rule more": ({}, rules(rule("deny"), rule("ask"), rule({"limit": "5 a day"}))),
    "a stricter word": (rules(rule("ask")), rules(rule("deny"))),
    "a lower limit": (rules(rule({"limit": "5 a day"})), rules(rule({"limit": "0 a day"}))),
    "other names, reasons and order": (
        rules(rule("ask"), rule("deny", server="x", tool="y")),
        rules({**rule("deny", tool="y", server="x"), "because": "z"}, {**rule("ask"), "name": "n"}),
    ),
    "one allowed less": (
        rules(rule("allow"), rule("allow", tool="x"), rule("deny")),
        rules(rule("deny"), rule("allow")),
    ),
    "a newer revision": (
        rules({"from": "store"}), rules({"from": "store", "revision": 4}),
    ),
    "more is blocked": (blocked("x"), blocked("y", "x")),
    "a blocked group written out": (blocked("g", g=["a"]), blocked("g", "a", g=["a", "b"])),
    "stricter words": (
        {"approval": {"x": "ask", "y": "allow"}}, {"approval": {"x": "deny", "z": "deny"}},
    ),
    "a smaller group": (group(include=["two/rm"]), group(exclude=["x"])),
    "no group": (group(exclude=["x"]), {}),
    "less is recorded": ({"record": ["arguments", "results"]}, {"record": ["results"]}),
    "an entry less": ({"mcpServers": {"one": SERVER, "x": {**SERVER, "lock": True}}}, {}),
}  # fmt: skip


def test_a_loosened_file_is_asked_about_in_a_sentence(tmp_path: Path):
    store = TrustStore()
    for case, (before, after, sentence) in LOOSENED.items():
        store.agree(load_settings(write(tmp_path / case, before)))
        loosened = load_settings(write(tmp_path / case, after))
        facts = [fact for part in store.untrusted_parts(loosened) for fact in part.facts]
        assert any(sentence in x for x in facts), (case, facts)
        store.agree(loosened)
        assert store.untrusted_parts(loosened) == (), case


def test_a_tightened_file_is_not_asked_about(tmp_path: Path):
    store = TrustStore()
    for case, (before, after) in TIGHTENED.items():
        store.agree(load_settings(write(tmp_path / case, before)))
        assert store.untrusted_parts(load_settings(write(tmp_path / case, after))) == (), case


def test_what_is_held_back_is_shown_before_the_yes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write(tmp_path, {**rules(rule("deny")), **blocked("shell"), **group(exclude=["rm"])})
    said = trust(capsys, file)[1].partition("It holds back:\n")[2]
    for line in ("rule `deny tool fits 'delete_*'`", "`shell` is blocked", "`rm` is excluded"):
        assert f"      {line}\n" in said


def test_unattended_a_loosened_file_starts_nothing_and_no_agent_calls_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    TrustStore().agree(load_settings(write(tmp_path, rules(rule("deny")))))
    write(tmp_path, {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text('def shred(paper: str) -> str:\n    """Shred."""\n')
    own = settings_from({"functions": {"shredder": {"file": "own.py"}}}).source("shredder")
    with Bridge() as bridge:
        assert bridge.usable_servers() == ()
        with pytest.raises(SettingsError, match=r"rule `deny tool fits 'delete_\*'` is removed"):
            bridge.list_tools("one")
        bridge.run(Operations.add_source, own)  # one that is not of the file
        assert "hold back less than their user agreed to" in shred(bridge, agent())


def test_what_widens_is_not_used_before_somebody_agreed(tmp_path: Path):
    words = {"x": "allow", "y": "deny"}
    file = write(tmp_path, {**group(), "record": ["results"], "approval": words})
    usable = without_untrusted(load_settings(file))
    with pytest.raises(SettingsError, match="have not agreed"):
        usable.group("mine")
    assert (usable.record, usable.approval) == (frozenset(), {"y": "deny"})
    TrustStore().agree(load_settings(file))
    usable = without_untrusted(load_settings(file))
    assert usable.group("mine")
    assert (usable.record, usable.approval) == ({"results"}, words)
