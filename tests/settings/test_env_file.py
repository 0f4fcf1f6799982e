"""The `.env` beside the settings: it fills variables, and is agreed to like the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.models import Settings
from xai_mcp_agent.settings.trust import TrustStore, without_parts

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
def test_its_values_fill_variables(tmp_path: Path, text: str, environ: dict[str, str], token: str):
    assert token_of(load(tmp_path, text, environ)) == f"Bearer {token}"


def test_a_missing_variable_names_the_file_first(tmp_path: Path):
    problem = str(load(tmp_path, "").problems["keyed"])
    assert (
        "environment variable TOKEN is not set. Write TOKEN=... into the file .env beside"
        in problem
    )


def test_what_decides_where_things_come_from_is_not_taken_from_a_file(tmp_path: Path):
    names = ("XAI_MCP_TRUST", "OPENAI_BASE_URL", "https_proxy", "LD_PRELOAD", "PYTHONPATH", "PATH")
    settings = load(tmp_path, "".join(f"{name}=1\n" for name in names) + "OPENAI_API_KEY=sk-1\n")
    assert settings.env == {"OPENAI_API_KEY": "sk-1"}
    (note,) = settings.notes
    assert ".env: XAI_MCP_TRUST, OPENAI_BASE_URL, https_proxy" in note
    assert "ignored in this file" in note


def test_its_keys_are_hidden_and_never_in_the_settings_text(tmp_path: Path):
    settings = load(tmp_path, "TOKEN=abcdefgh\nOPENAI_API_KEY=sk-12345678\n")
    assert settings.secrets.redact("abcdefgh and sk-12345678") == "*** and ***"
    assert "sk-12345678" not in repr(settings)


def test_a_changed_file_is_agreed_to_anew_for_what_it_fills(tmp_path: Path):
    store = TrustStore(tmp_path / "trusted.json", environ={})
    settings = load(tmp_path, "TOKEN=first\nOPENAI_API_KEY=sk-1\n")
    asked = {x.key_path: x.facts for x in store.untrusted_parts(settings)}
    assert asked[".env"] == ("gives the values of OPENAI_API_KEY, TOKEN",)
    assert "the file .env gives TOKEN" in asked["mcpServers.keyed"]
    store.agree(settings)
    assert store.untrusted_parts(load(tmp_path, "TOKEN=first\nOPENAI_API_KEY=sk-1\n")) == ()
    changed = load(tmp_path, "TOKEN=other\nOPENAI_API_KEY=sk-1\n")
    waiting = store.untrusted_parts(changed)
    assert {x.key_path for x in waiting} == {".env", "mcpServers.keyed"}
    without = without_parts(changed, waiting)
    assert (without.env, list(without.sources)) == ({}, ["plain"])
