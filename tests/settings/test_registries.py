"""The section `registries` of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, settings_from
from xai_mcp_agent.settings.registries import RegistrySettings


def read(written: Any, **more: Any) -> Settings:
    return settings_from({"mcpServers": {}, "registries": written}, **more)


def test_without_it_there_is_the_official_one() -> None:
    (official,) = settings_from({"mcpServers": {}}).registries.values()
    assert (official.name, official.type, official.is_official) == ("official", "api", True)


def test_others_are_added_and_the_official_one_can_be_taken_away() -> None:
    assert list(read({"team": {"url": "https://r.example.org"}}).registries) == ["official", "team"]
    assert list(read({"official": False, "team": "https://r.example.org"}).registries) == ["team"]


@pytest.mark.parametrize(
    ("written", "kind", "address"),
    [
        ({"url": "https://r.example.org/"}, "api", "https://r.example.org/"),
        ({"path": "lists/servers.json"}, "list", "/project/lists/servers.json"),
        ({"type": "list", "url": "https://r.example.org/l.json"}, "list",
         "https://r.example.org/l.json"),
        ({"repository": "a/b", "ref": "main"}, "github", "a/b main"),
        ({"type": "npm"}, "npm", "npm"),
    ],
    ids=["api", "path", "list", "github", "npm"],
)  # fmt: skip
def test_the_type_follows_from_what_is_written(
    written: dict[str, Any], kind: str, address: str
) -> None:
    settings = read({"it": written}, folder=Path("/project"))
    assert settings.notes == ()
    it = settings.registries["it"]
    assert (it.type, it.address) == (kind, address)
    assert not it.is_official


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ([], "must be an object, but is a list"),
        ({"it": 3}, "must be an object, but is a number"),
        ({"it": {}}, "it has no `url`"),
        ({"it": {"url": "ftp://x"}}, "does not start with http"),
        ({"it": {"url": "https://x", "ulr": "y"}}, "Did you mean 'url'?"),
        ({"it": {"type": "nmp"}}, "Did you mean 'npm'?"),
        ({"it": {"type": "list"}}, "either a `url` or a `path`"),
        ({"it": {"repository": "../../x", "ref": "main"}}, "must be a repository"),
        ({"it": {"repository": "a/b"}}, "must be a commit or a branch"),
        ({"it": {"repository": "a/b", "ref": "--x"}}, "must be a commit or a branch"),
        ({"it": {"url": "https://x/${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_what_is_wrong_is_noted_and_left_out(written: Any, said: str) -> None:
    settings = read(written)
    assert len(settings.notes) == 1
    assert said in settings.notes[0]
    assert list(settings.registries) == ["official"]


def test_a_secret_in_an_address_is_not_shown() -> None:
    settings = read(
        {"it": {"url": "https://me:${TOKEN}@r.example.org"}}, environ={"TOKEN": "abc-secret-word"}
    )
    it = settings.registries["it"]
    assert "abc-secret-word" in it.url
    assert "abc-secret-word" not in repr(it) + it.address
    assert "abc-secret-word" not in settings.secrets.redact("it is abc-secret-word")


def test_a_registry_prints_without_its_password() -> None:
    assert "secret" not in repr(RegistrySettings("a", "api", "https://me:secret@host"))
