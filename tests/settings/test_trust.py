"""A settings file starts and reaches nothing before this user agreed to it (design promise 7)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Bridge, SettingsError, load_settings
from xai_mcp_agent.settings.load import user_settings_path
from xai_mcp_agent.settings.trust import TrustStore, without_untrusted

SERVER = {"command": "python", "args": ["server.py"], "env": {"KEY": "of somebody"}}
OTHER = {"url": "http://127.0.0.1:9/mcp"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has agreed to nothing yet."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    return folder


def write(folder: Path, **document: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps(document or {"mcpServers": {"one": SERVER, "two": OTHER}}))
    return file


def waiting(file: Path, store: TrustStore | None = None) -> list[str]:
    return [x.key_path for x in (store or TrustStore()).untrusted_parts(load_settings(file))]


def test_nothing_of_a_file_is_used_before_somebody_agreed(tmp_path: Path):
    settings = without_untrusted(load_settings(write(tmp_path)))
    assert settings.usable == ()
    with pytest.raises(SettingsError, match=r"mcpServers\.one.*xai-mcp-agent trust"):
        settings.source("one")


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


def test_every_kind_of_source_waits(tmp_path: Path):
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


def test_the_places_for_the_history_and_for_embeddings_wait(tmp_path: Path):
    """They would be sent what tools are used for."""
    embeddings = {"provider": "openai", "model": "m", "baseUrl": "http://127.0.0.1:9/v1"}
    store = "postgresql://user:secret-word@127.0.0.1/history"
    file = write(tmp_path, mcpServers={}, store=store, toolSearch={"embeddings": embeddings})
    settings = without_untrusted(load_settings(file))
    assert (settings.store, settings.search.embeddings) == ("", None)
    assert len([x for x in settings.notes if "xai-mcp-agent trust" in x]) == 2
    TrustStore().agree(load_settings(file))
    assert without_untrusted(load_settings(file)).store == store


def test_a_link_is_another_file_than_where_it_leads(tmp_path: Path):
    """`server.py` is looked for beside the link: there it may be anything."""
    file = write(tmp_path / "mine")
    TrustStore().agree(load_settings(file))
    link = tmp_path / "theirs" / "mcp_settings.json"
    link.parent.mkdir()
    link.symlink_to(file)
    assert waiting(link) == ["mcpServers.one", "mcpServers.two"]


def test_the_users_own_file_and_what_a_program_names_or_gives_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What a program finds may be anybody's."""
    file = write(tmp_path)
    with Bridge.open(file, store="memory") as named, Bridge({"mcpServers": {"x": OTHER}}) as given:
        assert named.usable_servers() == ("one", "two")
        assert given.usable_servers() == ("x",)
    monkeypatch.chdir(tmp_path)
    with Bridge(store="memory") as found, Bridge.open(store="memory") as opened:
        assert found.usable_servers() == opened.usable_servers() == ()
        with pytest.raises(SettingsError, match="have not agreed"):
            found.list_tools("one")
    write(user_settings_path().parent)
    assert waiting(user_settings_path()) == []


def test_the_environment_agrees_for_runs_that_nobody_attends(tmp_path: Path):
    file = write(tmp_path / "project")
    rows = [(x, 0) for x in ("1", "all", "{file}", "{folder}", "/nowhere{sep}{file}")]
    rows += [(x, 2) for x in ("", "0", "no", "/nowhere", "{folder}/pro", "{file}.old")]
    for said, parts in rows:
        value = said.format(file=file, folder=tmp_path, sep=os.pathsep)
        assert len(waiting(file, TrustStore(environ={"XAI_MCP_TRUST": value}))) == parts, said


def test_where_it_cannot_be_read_what_was_agreed_to_nothing_is(tmp_path: Path):
    file = write(tmp_path)
    agreed = user_settings_path().parent / "trusted.json"
    for damage in (b"", b"[]", b'{"files": {"x": 3}}', b"\xff\xfe", b"[" * 100_000):
        TrustStore().agree(load_settings(file))
        assert waiting(file) == []
        agreed.write_bytes(damage)
        assert len(waiting(file)) == 2, damage[:20]


def test_it_can_be_withdrawn(tmp_path: Path):
    file, store = write(tmp_path), TrustStore()
    assert not store.withdraw(file)
    store.agree(load_settings(file))
    assert store.files() == [str(file)]
    assert store.withdraw(file)
    assert len(waiting(file)) == 2


def test_an_entry_that_is_switched_off_is_asked_about_when_it_is_switched_on(
    tmp_path: Path,
):
    """A registry's is written so; nobody has read it by then. A yes stays while it is off."""
    file, store = write(tmp_path), TrustStore()
    store.agree(load_settings(file))
    before = file.read_text()
    document = json.loads(before)
    document["mcpServers"]["new"] = {"command": "npx", "args": ["x"]}
    is_on = json.dumps(document)
    for entry in document["mcpServers"].values():
        entry["disabled"] = True
    file.write_text(json.dumps(document))
    assert store.untrusted_parts(load_settings(file)) == ()
    store.agree(load_settings(file))  # whoever agrees to the rest has not been shown it
    file.write_text(before)
    assert store.untrusted_parts(load_settings(file)) == ()
    file.write_text(is_on)
    (part,) = store.untrusted_parts(load_settings(file))
    assert (part.source, part.facts) == ("new", ("starts npx x",))
