"""Credentials of every kind of entry come from the environment and are never shown."""

from __future__ import annotations

from typing import Any

from xai_mcp_agent import Settings, settings_from

KEY = "key-very-secret-1234"
AGENT = {"url": "https://example.org/agent"}
SERVICE = {"spec": "https://example.org/openapi.json"}


def read(section: str, entry: Any) -> Settings:
    return settings_from({"mcpServers": {}, section: {"a": entry}}, environ={"KEY": KEY})


def test_credentials_of_agents_and_services_are_hidden_wherever_they_stand() -> None:
    written: list[tuple[str, dict[str, Any]]] = [
        ("agents", {**AGENT, "bearer": "${KEY}"}),
        ("agents", {**AGENT, "headers": {"X-Api-Key": "${KEY}"}}),
        ("agents", {"url": f"https://me:{KEY}@example.org/"}),
        ("openapiServices", {**SERVICE, "auth": {"apiKey": "${KEY}"}}),
        ("openapiServices", {**SERVICE, "headers": {"X-Api-Key": "${KEY}"}}),
        ("openapiServices", {"spec": f"https://me:{KEY}@example.org/x"}),
        ("openapiServices", {"spec": f"https://example.org/x?api_key={KEY}"}),
    ]
    for section, entry in written:
        source = read(section, entry).source("a")
        assert KEY not in repr(source), entry
        assert source.secrets.redact(f"It said {KEY}.") == "It said ***.", entry


def test_a_secret_in_the_address_of_a_registry_is_not_shown() -> None:
    settings = read("registries", {"url": "https://me:${KEY}@r.example.org"})
    registry = settings.registries["a"]
    assert KEY in registry.url
    assert KEY not in repr(registry) + registry.address
    assert KEY not in settings.secrets.redact(f"it is {KEY}")


def test_the_tenant_in_the_address_of_a_sign_in_service_is_no_secret() -> None:
    """It stands in the address that a person opens to sign in."""
    issuer = "https://login.example.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
    auth = {"issuer": issuer, "clientSecret": "hush-hush"}
    settings = settings_from({"x": {"url": "https://h/mcp", "auth": auth}})
    assert settings.secrets.redact(f"{issuer} hush-hush") == f"{issuer} ***"
