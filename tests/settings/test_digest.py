"""Digests of settings: the same for the same expanded values, and no word of them without a key."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent.settings.digest import digest_of, user_key
from xai_mcp_agent.settings.load import load_settings, settings_from
from xai_mcp_agent.settings.models import Settings

KEY = b"a key"
EXAMPLE = Path(__file__).parents[2] / "mcp_settings.json.example"


def read(entry: dict[str, Any], **variables: str) -> Settings:
    return settings_from({"mcpServers": {"notes": entry}}, environ=variables)


def test_settings_that_were_read_again_have_the_same_digest() -> None:
    assert digest_of(load_settings(EXAMPLE), KEY) == digest_of(load_settings(EXAMPLE), KEY)


def test_a_changed_variable_and_another_key_give_another_digest() -> None:
    cases: list[dict[str, Any]] = [
        {"command": "notes", "env": {"TOKEN": "${TOKEN}"}},
        {"url": "https://a.example", "auth": {"clientId": "a", "clientSecret": "${TOKEN}"}},
    ]
    for entry in cases:
        one, other = (read(entry, TOKEN=x).sources["notes"] for x in ("sesame-1", "sesame-2"))
        assert len({digest_of(one, KEY), digest_of(other, KEY), digest_of(one, b"another")}) == 3


def test_the_key_of_a_user_stays_and_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert user_key() == user_key()
    (file,) = tmp_path.rglob("digest.key")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
