"""OpenAPI services in the settings: the section `openapiServices`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, settings_from
from xai_mcp_agent.core.tools import OPENAPI
from xai_mcp_agent.settings.openapi import OpenApiSettings

FOLDER = Path("/srv/project")
KEY = "key-very-secret-1234"
SPEC = {"spec": "https://example.org/openapi.json"}


def read(entry: Any, **environ: str) -> Settings:
    return settings_from({"openapiServices": {"a": entry}}, folder=FOLDER, environ=environ)


def service_of(entry: Any, **environ: str) -> OpenApiSettings:
    found = read(entry, **environ).source("a")
    assert isinstance(found, OpenApiSettings)
    return found


def test_a_service_is_read_with_everything_filled_in() -> None:
    found = service_of({**SPEC, "baseUrl": "https://example.org/v1", "include": ["get_*"],
                        "timeout": 5, "startTimeout": 3, "maxResponseBytes": 1000})  # fmt: skip
    assert (found.kind, found.transport, found.is_remote) == (OPENAPI, "http", True)
    assert (found.base_url, found.include) == ("https://example.org/v1", ("get_*",))
    assert (found.call_timeout_seconds, found.start_timeout_seconds) == (5.0, 3.0)
    assert found.max_answer_bytes == 1000
    assert read({**SPEC}).notes == ()


@pytest.mark.parametrize(
    ("spec", "file"),
    [("things.yaml", "/srv/project/things.yaml"), ("../x/y.json", "/srv/x/y.json"),
     ("/a/b.json", "/a/b.json"), ("${NAME}.json", "/srv/project/things.json")],
)  # fmt: skip
def test_a_file_is_found_from_the_folder_of_the_settings(spec: str, file: str) -> None:
    found = service_of({"spec": spec}, NAME="things")
    assert (found.spec, found.is_remote) == (file, False)


def test_credentials_come_from_the_environment_and_are_never_shown() -> None:
    by_key = service_of({**SPEC, "auth": {"apiKey": "${KEY}"}}, KEY=KEY)
    by_header = service_of({**SPEC, "headers": {"X-Api-Key": "${KEY}"}}, KEY=KEY)
    in_url = service_of({"spec": f"https://me:{KEY}@example.org/x"})
    in_query = service_of({"spec": f"https://example.org/x?api_key={KEY}"})
    for found in (by_key, by_header, in_url, in_query):
        assert KEY not in repr(found)
        assert found.secrets.redact(f"It said {KEY}.") == "It said ***."


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({}, "spec"),
        ({"spec": ""}, "spec"),
        ({"spec": "ftp://example.org/x"}, "spec"),
        ({"spec": "https://"}, "spec"),
        ({**SPEC, "baseUrl": "example.org"}, "baseUrl"),
        ({**SPEC, "baseUrl": "https://example.org/v1?key=x"}, "baseUrl"),
        ({**SPEC, "maxResponseBytes": 0}, "maxResponseBytes"),
        ({**SPEC, "headers": {"Content-Length": "5"}}, "headers"),
        ({**SPEC, "operations": []}, "operations"),
        ({**SPEC, "operations": {"x": {"headers": {"a b": "c"}}}}, "operations.x.headers"),
        ({**SPEC, "operations": {"x": {"mode": "later"}}}, "operations.x.mode"),
        ("things.json", ""),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_nothing_else_suffers(
    entry: Any, place: str
) -> None:
    written = {"openapiServices": {"a": entry, "fine": SPEC}}
    settings = settings_from(written, folder=FOLDER, environ={})
    with pytest.raises(SettingsError) as told:
        settings.source("a")
    assert told.value.key_path == f"openapiServices.a.{place}".rstrip(".")
    assert settings.source("fine").name == "fine"


def test_keys_that_mean_nothing_are_reported() -> None:
    notes = read({**SPEC, "baseURL2": "x", "auth": {"apikey2": "x", "apiKey": "y"}}).notes
    assert any("baseURL2" in x for x in notes)
    assert any("apikey2" in x for x in notes)
