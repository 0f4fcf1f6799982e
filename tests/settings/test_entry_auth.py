"""What stands under `auth` of an entry: its spellings, and every mistake with its place."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, settings_from

FILE = "https://example.com/client.json"


def settings_with(auth: Any, key: str = "auth") -> Settings:
    """Those of two servers: `x`, whose `auth` this is, and `other`."""
    entry = {"url": "https://h/mcp", key: auth}
    return settings_from({"x": entry, "other": {"command": "a"}}, environ={"ID": "by-hand"})


@pytest.mark.parametrize("key", ["auth", "oauth"])
@pytest.mark.parametrize("name", ["clientId", "client_id", "CLIENT_ID"])
def test_the_spellings_of_other_clients_are_understood(key: str, name: str) -> None:
    auth = settings_with({name: "${ID}", "scope": "a b"}, key).server("x").auth
    assert (auth.use, auth.client_id, auth.scopes) == ("yes", "by-hand", ("a", "b"))


def test_what_a_sign_in_service_would_take_is_kept() -> None:
    written = {"clientMetadataUrl": FILE, "redirectUri": "http://localhost:9/cb", "issuer": FILE}
    auth = settings_with(written).server("x").auth
    assert (auth.client_metadata_url, auth.redirect_uri) == (FILE, "http://localhost:9/cb")


@pytest.mark.parametrize(
    ("auth", "key"),
    [
        ({"clientMetadataUrl": "http://example.com/client.json"}, "clientMetadataUrl"),
        ({"clientMetadataUrl": "https://example.com"}, "clientMetadataUrl"),
        ({"clientMetadataUrl": "https://[bad/client.json"}, "clientMetadataUrl"),
        ({"clientMetadataUrl": "https:///client.json"}, "clientMetadataUrl"),
        ({"redirectUri": "localhost/callback"}, "redirectUri"),
        ({"redirectUri": "http://localhost:port/callback"}, "redirectUri"),
        ({"redirectUri": "http://localhost:99999/callback"}, "redirectUri"),
        ({"issuer": "https://[bad"}, "issuer"),
        ({"redirectPort": 70_000}, "redirectPort"),
        ({"grant": "client_credentials", "clientId": "robot"}, "auth"),
    ],
)
def test_a_mistake_costs_this_server_alone_and_names_its_place(auth: Any, key: str) -> None:
    settings = settings_with(auth)
    with pytest.raises(SettingsError) as raised:
        settings.server("x")
    assert raised.value.key_path.endswith(key)
    assert settings.server("other").command == "a"


def test_the_tenant_in_the_address_of_a_sign_in_service_is_no_secret() -> None:
    """It stands in the address that a person opens to sign in."""
    issuer = "https://login.example.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
    settings = settings_with({"issuer": issuer, "clientSecret": "hush-hush"})
    assert settings.secrets.redact(f"{issuer} hush-hush") == f"{issuer} ***"
