"""A settings file starts and reaches nothing before its user agrees to it (design promise 7)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.policy.shredding import agent, shred
from tests.support.commands import Cli
from xai_mcp_agent import Bridge, SettingsError, load_settings
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.settings.load import settings_from, user_settings_path
from xai_mcp_agent.settings.models import Settings
from xai_mcp_agent.settings.trust import TrustStore, without_parts, without_untrusted

SERVER = {"command": "python", "args": ["server.py"], "env": {"KEY": "of somebody"}}
OTHER = {"url": "http://127.0.0.1:9/mcp"}


def write(folder: Path, **document: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"one": SERVER, "two": OTHER}, **document}))
    return file


def waiting(file: Path, store: TrustStore | None = None) -> list[str]:
    return [x.key_path for x in (store or TrustStore()).untrusted_parts(load_settings(file))]


def test_a_change_is_asked_about_and_concerns_that_entry_only(tmp_path: Path):
    file = write(tmp_path)
    TrustStore().agree(load_settings(file))
    changes: list[dict[str, Any]] = [
        {"command": "sh"}, {"args": ["other.py"]}, {"env": {"KEY": "x", "LD_PRELOAD": "x.so"}},
        {"cwd": "/"}, {"lock": True}, {"autoApprove": ["delete"]}, {"roots": ["/"]},
        {"sampling": "allow"}, {"elicitation": "defaults"}, {"unheard_of": 1},
    ]  # fmt: skip
    for change in changes:
        write(tmp_path, mcpServers={"one": {**SERVER, **change}, "two": OTHER})
        assert waiting(file) == ["mcpServers.one"], change
    limits = {"timeout": 7, "startTimeout": 7, "listTimeout": 7}
    write(tmp_path, mcpServers={"two": OTHER, "one": {**SERVER, **limits}})
    assert waiting(file) == [], "limits of time change nothing"


def test_every_kind_of_source_needs_an_agreement(tmp_path: Path):
    (tmp_path / "code.py").write_text("raise SystemExit")
    file = write(
        tmp_path,
        mcpServers={"one": SERVER},
        functions={"code": {"file": "code.py"}},
        builtin={"files": {"tools": ["read_file"], "workspace": "/"}},
        openapiServices={"service": {"spec": "http://127.0.0.1:9/openapi.json"}},
        agents={"agent": {"url": "http://127.0.0.1:9"}},
        workflows={"flow": {"file": "flow.xircuits"}},
    )
    settings = without_untrusted(load_settings(file))
    assert settings.usable == ()
    assert sorted(settings.problems) == ["agent", "code", "files", "flow", "one", "service"]


def test_addresses_of_the_history_and_of_embeddings_need_an_agreement(tmp_path: Path):
    """They would receive the uses of tools."""
    embeddings = {"provider": "openai", "model": "m", "baseUrl": "http://127.0.0.1:9/v1"}
    store = "postgresql://user:secret-word@127.0.0.1/history"
    file = write(tmp_path, mcpServers={}, store=store, toolSearch={"embeddings": embeddings})
    settings = without_untrusted(load_settings(file))
    assert (settings.store, settings.search.embeddings) == ("", None)
    assert len([x for x in settings.notes if "xai-mcp-agent trust" in x]) == 2
    TrustStore().agree(load_settings(file))
    assert without_untrusted(load_settings(file)).store == store


def test_a_link_to_a_trusted_file_is_not_trusted(tmp_path: Path):
    """Relative paths start at the folder of the link, where `server.py` may be another program."""
    file = write(tmp_path / "mine")
    TrustStore().agree(load_settings(file))
    link = tmp_path / "theirs" / "mcp_settings.json"
    link.parent.mkdir()
    link.symlink_to(file)
    assert waiting(link) == ["mcpServers.one", "mcpServers.two"]


def test_the_users_own_file_and_settings_that_a_program_names_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A file that the program did not name may be a stranger's."""
    file = write(tmp_path)
    with (
        Bridge.open(file, store="memory") as from_file,
        Bridge({"mcpServers": {"x": OTHER}}) as from_value,
    ):
        assert from_file.usable_servers() == ("one", "two")
        assert from_value.usable_servers() == ("x",)
    monkeypatch.chdir(tmp_path)
    with Bridge(store="memory") as default, Bridge.open(store="memory") as opened:
        assert default.usable_servers() == opened.usable_servers() == ()
        with pytest.raises(SettingsError, match="have not agreed"):
            default.list_tools("one")
    write(user_settings_path().parent)
    assert waiting(user_settings_path()) == []


def test_the_environment_variable_agrees_for_unattended_runs(tmp_path: Path):
    file = write(tmp_path / "project")
    rows = [(x, 0) for x in ("1", "all", "{file}", "{folder}", "/nowhere{sep}{file}")]
    rows += [(x, 2) for x in ("", "0", "no", "/nowhere", "{folder}/pro", "{file}.old")]
    for text, parts in rows:
        value = text.format(file=file, folder=tmp_path, sep=os.pathsep)
        assert len(waiting(file, TrustStore(environ={"XAI_MCP_TRUST": value}))) == parts, text


def test_unreadable_agreements_do_not_count(tmp_path: Path):
    file = write(tmp_path)
    agreed = user_settings_path().parent / "trusted.json"
    for damage in (b"", b"[]", b'{"files": {"x": 3}}', b"\xff\xfe", b"[" * 100_000):
        TrustStore().agree(load_settings(file))
        assert waiting(file) == []
        agreed.write_bytes(damage)
        assert len(waiting(file)) == 2, damage[:20]


def test_an_agreement_can_be_withdrawn(tmp_path: Path):
    file, store = write(tmp_path), TrustStore()
    assert not store.withdraw(file)
    store.agree(load_settings(file))
    assert store.files() == [str(file)]
    assert store.withdraw(file)
    assert len(waiting(file)) == 2


def test_a_disabled_entry_needs_an_agreement_once_it_is_enabled(tmp_path: Path):
    """Entries from a registry are added disabled, before anybody has read them."""
    store, new = TrustStore(), {"command": "npx", "args": ["x"]}

    def load_with(**servers: Any) -> Settings:
        return load_settings(write(tmp_path, mcpServers=servers))

    store.agree(load_with(one=SERVER, two=OTHER))
    entries = {"one": SERVER, "two": OTHER, "new": new}
    disabled = load_with(**{x: {**y, "disabled": True} for x, y in entries.items()})
    assert store.untrusted_parts(disabled) == ()
    store.agree(disabled)  # the new entry is disabled, so it was not shown
    assert store.untrusted_parts(load_with(one=SERVER, two=OTHER)) == ()
    (part,) = store.untrusted_parts(load_with(**entries))
    assert (part.source, part.facts) == ("new", ("starts npx x",))


# Settings that hold calls back: removing one after the agreement asks again.


Document = dict[str, Any]


def rule(then: Any, **when: Any) -> Document:
    return {"when": when or {"tool": "delete_*"}, "then": then}


def rules(*entries: Any) -> Document:
    return {"rules": list(entries)}


def blocked(*names: str, **groups: list[str]) -> Document:
    return {"toolSearch": {"blocked": list(names), "groups": groups}}


def group(**fields: Any) -> Document:
    return {"groups": {"mine": {"selectors": [{"source": "one"}], **fields}}}


def entry(**fields: Any) -> Document:
    return {"mcpServers": {"one": {**SERVER, **fields}}}


INTERNAL = rule({"is": "internal"}, server="a")
BY_WORD = rule("deny", **{"is": "not internal"})

DENY, ASK, ALLOW = map(rule, ("deny", "ask", "allow"))
FIVE_A_DAY = rule({"limit": "5 a day"})
DENIED = "rule `deny tool fits 'delete_*'` is removed or weakened: calls it refused are now made"
MANY = [f"tool_{n:03}" for n in range(300)]
OTHERS = [*MANY[:150], "tool_15x", *MANY[151:]]
LOOSENED: list[tuple[Document, Document, str]] = [
    (rules(DENY), {}, DENIED),
    (rules(DENY), rules(ASK), DENIED),
    (rules(DENY), rules(rule("deny", tool="delete_all")), DENIED),
    (rules(DENY), rules({**DENY, "unless": {"agent": "x"}}), DENIED),
    (rules(ASK), rules(), "rule `ask tool fits 'delete_*'` is removed or weakened: calls"),
    (rules(FIVE_A_DAY), rules(rule({"limit": "50 a day"})), "weakened: more calls are now made"),
    (rules(rule("deny", tool=MANY)), rules(rule("deny", tool=OTHERS)),
     "rule `deny tool is 'tool_000' or"),
    (rules(INTERNAL, BY_WORD), rules({**INTERNAL, "when": {"server": "*"}}, BY_WORD),
     "rule `deny is is not 'internal'` is removed or weakened"),
    ({}, rules(ALLOW), "rule `allow tool fits 'delete_*'`: these calls are made without your"),
    (rules({"from": "store", "revision": 3}), rules({"from": "store"}), "older ones may be"),
    (blocked("shell"), {}, "`shell` is blocked no longer: agents may see and call it"),
    (blocked("g", g=["a", "b"]), blocked("g", g=["a"]), "`b` is blocked no longer"),
    ({**blocked("mine"), **group()}, {**blocked("mine"), **group(exclude=["rm"])},
     "`mine: source one` is blocked no longer"),
    ({"approval": "ask"}, {}, "`approval` of `*` was `ask`, and is removed or weakened: calls"),
    ({"approval": {"x": "deny"}}, {"approval": {"x": "ask"}}, "`approval` of `x` was `deny`"),
    ({"approval": "ask"}, {"approval": {"*": "ask", "x": "allow"}},
     "called without your approval: x"),
    ({"approval": {"del*": "deny"}}, {"approval": {"del*": "deny", "delete": "ask"}},
     "called after your approval only: delete"),
    ({"approval": "ask"}, {"approval": {"*": "ask", "get_*": "ask_unless_read_only"}},
     "called without your approval where it only reads: get_*"),
    (entry(approval={"x": "ask"}), entry(), "`approval` of `x` was `ask`"),
    (entry(disabledTools=["rm"]), entry(), "`rm` is switched off no longer"),
    (entry(lock=True), entry(lock="first"), "`lock` is removed or"),
    (group(), group(include=["two/rm"]), "has the tools with name rm and source two"),
    (group(exclude=["rm"]), group(), "`rm` is excluded no longer"),
    ({"record": ["arguments"]}, {"record": ["arguments", "results"]},
     "the history keeps the results of calls"),
]  # fmt: skip
ZERO_A_DAY, FOR_Y = rule({"limit": "0 a day"}), rule("deny", server="x", tool="y")
TIGHTENED: list[tuple[Document, Document]] = [
    (entry(), entry(required=True)),
    ({}, rules(DENY, ASK, FIVE_A_DAY)),
    (rules(ASK), rules(DENY)),
    (rules(FIVE_A_DAY), rules(ZERO_A_DAY)),
    (rules(ASK, FOR_Y), rules({**FOR_Y, "because": "z"}, {**ASK, "name": "n"})),
    (rules(ALLOW, rule("allow", tool="x"), DENY), rules(DENY, ALLOW)),
    (rules({"from": "store"}), rules({"from": "store", "revision": 4})),
    (blocked("x"), blocked("y", "x")),
    (blocked("g", g=["a"]), blocked("g", "a", g=["a", "b"])),
    ({"approval": {"x": "ask", "y": "allow"}}, {"approval": {"x": "deny", "z": "deny"}}),
    (group(include=["two/rm"]), group(exclude=["x"])),
    (group(exclude=["x"]), {}),
    ({"record": ["arguments", "results"]}, {"record": ["results"]}),
    ({"mcpServers": {"one": SERVER, "x": {**SERVER, "lock": True}}}, entry()),
]


def test_only_a_loosened_file_needs_another_agreement(tmp_path: Path):
    store = TrustStore()
    for number, (before, after, sentence) in enumerate(LOOSENED):
        store.agree(load_settings(write(tmp_path / f"{number}", **before)))
        loosened = load_settings(write(tmp_path / f"{number}", **after))
        facts = [fact for part in store.untrusted_parts(loosened) for fact in part.facts]
        assert any(sentence in x for x in facts), (sentence, facts)
        store.agree(loosened)
        assert store.untrusted_parts(loosened) == (), sentence
    for number, (before, after) in enumerate(TIGHTENED):
        store.agree(load_settings(write(tmp_path / f"tight {number}", **before)))
        tightened = load_settings(write(tmp_path / f"tight {number}", **after))
        assert store.untrusted_parts(tightened) == (), (before, after)


def test_the_question_lists_the_guards(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path, **rules(DENY), **blocked("shell"), **group(exclude=["rm"]))
    question = Cli(capsys)("trust", str(file))[1].partition("It holds back:\n")[2]
    for line in ("rule `deny tool fits 'delete_*'`", "`shell` is blocked", "`rm` is excluded"):
        assert f"      {line}\n" in question


def test_an_unattended_run_with_a_loosened_file_starts_and_calls_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    TrustStore().agree(load_settings(write(tmp_path, **rules(DENY))))
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text('def shred(paper: str) -> str:\n    """Shred."""\n')
    own = settings_from({"functions": {"shredder": {"file": "own.py"}}}).source("shredder")
    with Bridge() as bridge:
        assert bridge.usable_servers() == ()
        with pytest.raises(SettingsError, match=r"rule `deny tool fits 'delete_\*'` is removed"):
            bridge.list_tools("one")
        bridge.run(Operations.add_source, own)  # one that is not of the file
        assert "restrict less than their user agreed to" in shred(bridge, agent())


def test_a_wider_group_record_or_approval_is_not_used_before_the_user_agrees(tmp_path: Path):
    words = {"x": "allow", "y": "deny"}
    file = write(tmp_path, **group(), record=["results"], approval=words)
    usable = without_untrusted(load_settings(file))
    with pytest.raises(SettingsError, match="have not agreed"):
        usable.group("mine")
    assert (usable.record, usable.approval) == (frozenset(), {"y": "deny"})
    TrustStore().agree(load_settings(file))
    usable = without_untrusted(load_settings(file))
    assert usable.group("mine")
    assert (usable.record, usable.approval) == ({"results"}, words)


# The `.env` beside the settings has values of variables and needs an agreement, too.


ENTRIES = {
    "keyed": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    "plain": {"command": "echo"},
}


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": ENTRIES}), encoding="utf-8")
    (folder / ".env").write_text(text, encoding="utf-8")
    return load_settings(file, environ=environ or {})


def token_of(settings: Settings) -> str:
    return str(settings.server("keyed").headers["Authorization"])


@pytest.mark.parametrize(
    ("text", "environ", "token"),
    [
        ("TOKEN=abcdef", {}, "abcdef"),
        ("export TOKEN='a b'  # mine", {}, "a b"),
        ("\ufeffTOKEN=abcdef\r\nOTHER=1\r\n", {}, "abcdef"),
        ("TOKEN=${HOME}", {}, "${HOME}"),
        ("TOKEN=abcdef", {"TOKEN": "stronger"}, "stronger"),
    ],
    ids=["plain", "quoted", "Windows", "literal", "environment wins"],
)
def test_values_in_the_env_file_fill_variables(
    tmp_path: Path, text: str, environ: dict[str, str], token: str
):
    assert token_of(load(tmp_path, text, environ)) == f"Bearer {token}"


def test_the_env_file_cannot_set_variables_that_choose_programs_or_addresses(tmp_path: Path):
    names = ("XAI_MCP_TRUST", "OPENAI_BASE_URL", "https_proxy", "LD_PRELOAD", "PYTHONPATH", "PATH")
    settings = load(tmp_path, "".join(f"{name}=1\n" for name in names) + "OPENAI_API_KEY=sk-1\n")
    assert settings.env == {"OPENAI_API_KEY": "sk-1"}
    (note,) = settings.notes
    assert ".env: XAI_MCP_TRUST, OPENAI_BASE_URL, https_proxy" in note
    assert "ignored in this file" in note


def test_keys_in_the_env_file_are_masked_and_never_printed(tmp_path: Path):
    settings = load(tmp_path, "TOKEN=abcdefgh\nOPENAI_API_KEY=sk-12345678\n")
    assert settings.secrets.redact("abcdefgh and sk-12345678") == "*** and ***"
    assert "sk-12345678" not in repr(settings)


def test_a_changed_env_file_needs_another_agreement_for_the_entries_that_use_it(tmp_path: Path):
    store = TrustStore(tmp_path / "trusted.json", environ={})
    settings = load(tmp_path, "TOKEN=first\nOPENAI_API_KEY=sk-1\n")
    facts = {x.key_path: x.facts for x in store.untrusted_parts(settings)}
    assert facts[".env"] == ("gives the values of OPENAI_API_KEY, TOKEN",)
    assert "the file .env gives TOKEN" in facts["mcpServers.keyed"]
    store.agree(settings)
    assert store.untrusted_parts(load(tmp_path, "TOKEN=first\nOPENAI_API_KEY=sk-1\n")) == ()
    changed = load(tmp_path, "TOKEN=other\nOPENAI_API_KEY=sk-1\n")
    waiting = store.untrusted_parts(changed)
    assert {x.key_path for x in waiting} == {".env", "mcpServers.keyed"}
    without = without_parts(changed, waiting)
    assert (without.env, list(without.sources)) == ({}, ["plain"])
