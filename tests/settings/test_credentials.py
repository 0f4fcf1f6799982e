"""Credentials of every kind of entry come from the environment and are never shown."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.any_json import SCALARS, nested
from xai_mcp_agent import Secret, ServerSettings, Settings, settings_from
from xai_mcp_agent.settings.digest import digest_of, user_key
from xai_mcp_agent.settings.load import load_settings

KEY = "key-very-secret-1234"
HIDDEN = "Hidden-Value-42"
AGENT = {"url": "https://example.org/agent"}
SERVICE = {"spec": "https://example.org/openapi.json"}


def read(section: str, entry: Any, **environ: str) -> Settings:
    return settings_from({"mcpServers": {}, section: {"a": entry}}, environ={"KEY": KEY, **environ})


def test_credentials_of_agents_and_services_are_hidden_in_every_place():
    entries: list[tuple[str, dict[str, Any]]] = [
        ("agents", {**AGENT, "bearer": "${KEY}"}),
        ("agents", {**AGENT, "headers": {"X-Api-Key": "${KEY}"}}),
        ("agents", {"url": f"https://me:{KEY}@example.org/"}),
        ("openapiServices", {**SERVICE, "auth": {"apiKey": "${KEY}"}}),
        ("openapiServices", {**SERVICE, "headers": {"X-Api-Key": "${KEY}"}}),
        ("openapiServices", {"spec": f"https://me:{KEY}@example.org/x"}),
        ("openapiServices", {"spec": f"https://example.org/x?api_key={KEY}"}),
    ]
    for section, entry in entries:
        source = read(section, entry).source("a")
        assert KEY not in repr(source), entry
        assert source.secrets.redact(f"It said {KEY}.") == "It said ***.", entry


def test_secrets_of_registries_and_embeddings_are_not_shown():
    settings = read("registries", {"url": "https://me:${KEY}@r.example.org"})
    registry = settings.registries["a"]
    assert KEY in registry.url
    assert KEY not in repr(registry) + registry.address
    assert KEY not in settings.secrets.redact(f"it is {KEY}")
    values = {"model": "m", "baseUrl": "http://u:a-password@x/v1", "apiKey": "${KEY}"}
    document = {"mcpServers": {}, "toolSearch": {"embeddings": values}}
    settings = settings_from(document, environ={"KEY": KEY})
    embeddings = settings.search.embeddings
    assert embeddings is not None
    assert embeddings.api_key is not None
    assert embeddings.api_key.reveal() == KEY
    assert KEY not in repr(embeddings)
    assert settings.secrets.redact(f"{KEY} a-password") == "*** ***"


def test_all_secrets_of_servers_are_masked_and_never_printed():
    """design.md 1.7. The same holds for one made in Python; a tenant in an address is no secret."""
    issuer = "https://login.example.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
    settings = settings_from(
        {
            "a": {"command": "x", "args": ["--token", "secret-1"], "env": {"API_KEY": "secret-2"}},
            "b": {"url": "https://u:secret-3@h/", "headers": {"Authorization": "Bearer secret-4"}},
            "c": {"command": "x", "args": ["${MY_PASSWORD}"], "disabled": True},
            "d": {"command": "x", "env": {"TOKEN": "secret-6"}, "disabled": True},
            "e": {"url": "https://h/mcp", "auth": {"issuer": issuer, "clientSecret": "secret-7"}},
            "f": {"command": Path("x"), "args": ("a",), "env": {"A": Secret("secret-8")}},
        },
        environ={"MY_PASSWORD": "secret-5"},
    )
    text = " ".join(f"secret-{i}" for i in range(1, 9))
    assert settings.secrets.redact(f"{text} {issuer}") == "*** " * 8 + issuer
    assert "secret-" not in repr(settings)
    args = ("-y", "server", "--token", "arg-secret", "--key=short", "https://u:pw@h/?q=secret")
    server = ServerSettings(
        name="x", transport="stdio", command="npx", args=args, env={"ANYTHING": "env-secret"},
        url="https://user-secret:pw@h/mcp?a=secret", headers={"Accept": "header-secret"},
    )  # fmt: skip
    for printed in (repr(server), str(server), server.target, f"{server}", repr([server])):
        assert not [x for x in ("secret", "short", "pw") if x in printed]


_KEYS = st.sampled_from(
    ["command", "args", "env", "cwd", "url", "httpUrl", "headers", "type", "timeout", "mode",
     "disabled", "autoApprove", "disabledTools", "", "comand", "TOKEN", "A B", "${NOPE}"]
)  # fmt: skip
_TEXTS = st.sampled_from(
    ["${NAME}", "${NOPE}", "http://h/sse", "stdio", "\ud800", "a\0", HIDDEN, f"${{{HIDDEN}",
     f"a${{{HIDDEN}}}", f"http://{HIDDEN}@h\n/"]
)  # fmt: skip
_ENTRIES = st.dictionaries(_KEYS, nested(SCALARS | st.floats() | _TEXTS, _KEYS, 12))


@examples(max_examples=25)
@given(entry=_ENTRIES)
def test_any_entry_is_a_server_or_a_problem_without_its_values(entry: Any):
    """Keys may be shown, because they are names."""
    for one in (entry, {"command": "a", **entry}):
        settings = settings_from({"mcpServers": {"x": one}}, environ={"NAME": "ada"})
        assert len(settings.servers) + len(settings.problems) == 1
        texts = [*settings.notes, *(str(x) for x in settings.problems.values()), str(settings)]
        assert HIDDEN not in json.dumps(texts)


# Digests: equal for equal values, and different with another key.


def test_a_digest_depends_on_the_expanded_values_and_the_key():
    example = Path(__file__).parents[2] / "mcp_settings.json.example"
    assert digest_of(load_settings(example), b"key") == digest_of(load_settings(example), b"key")
    for section, entry in (
        ("mcpServers", {"command": "notes", "env": {"TOKEN": "${TOKEN}"}}),
        ("mcpServers", {"url": "https://a.example", "auth": {"clientSecret": "${TOKEN}"}}),
    ):
        one, other = (read(section, entry, TOKEN=x).sources["a"] for x in ("sesame-1", "sesame-2"))
        digests = {digest_of(one, b"key"), digest_of(other, b"key"), digest_of(one, b"another")}
        assert len(digests) == 3


def test_the_key_of_a_user_stays_and_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert user_key() == user_key()
    (file,) = tmp_path.rglob("digest.key")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
