"""Folders of Docker's registry: a `server.yaml` for each server, perhaps `tools.json` beside it.

`{{name.parameter}}` in its values stands for a parameter, `$NAME` for one of its secrets.
"""

from __future__ import annotations

import re
from typing import Any

from ...core.json import JsonObject, as_list, as_object
from ...core.schemas import properties, required
from ...sources.openapi.document.values import texts_of
from ..values import Document

_PARAMETER = re.compile(r"\{\{\s*(?:[\w-]+\.)?([\w-]+)\s*(?:\|[^{}]*)?\}\}")
_SECRET = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_TRANSPORTS = {"sse": "sse", "streamable-http": "streamable-http", "http": "streamable-http"}
_FORMATS = {"number": "number", "integer": "number", "boolean": "boolean"}


def is_docker(value: Any) -> bool:
    """Whether it is one of these."""
    given = as_object(value)
    return "name" in given and given.get("type") in ("server", "remote", "poci")


def docker_document(given: JsonObject, place: str, tools: Any = None) -> Document:
    """What one of these folders says; it has no version but the commit that it was made of."""
    about, source = as_object(given.get("about")), as_object(given.get("source"))
    commit = source.get("commit")
    server: JsonObject = {
        "name": given.get("name"),
        "title": about.get("title"),
        "description": about.get("description"),
        "version": commit if isinstance(commit, str) else "",
        "repository": {"url": source.get("project"), "source": "github"},
    }
    known = {**_parameters(given), **_secrets(given)}
    if given.get("type") == "remote":
        server["remotes"] = [_remote(as_object(given.get("remote")), known)]
    else:
        server["packages"] = [_package(given, known)]
    name = given.get("name")
    meta = as_object(given.get("meta"))
    category = [meta["category"]] if isinstance(meta.get("category"), str) else []
    extras = {"tags": list(dict.fromkeys([*category, *texts_of(meta.get("tags"))]))}
    names = [as_object(x).get("name") for x in as_list(tools)]
    if names:
        extras["tools"] = [x for x in names if isinstance(x, str)]
    told = name if isinstance(name, str) else ""
    # A version is of what is run; what is written about it may be corrected.
    same = {key: x for key, x in given.items() if key not in ("about", "meta")}
    return Document(
        told, server["version"], server, same, extras=extras, place=place, has_namespace=False
    )


def _parameters(given: JsonObject) -> dict[str, JsonObject]:
    """What a person has to say, by its name."""
    schema = as_object(as_object(given.get("config")).get("parameters"))
    needed = required(schema)
    return {
        name: {
            "description": spec.get("description") or spec.get("title"),
            "isRequired": name in needed,
            "format": _FORMATS.get(str(spec.get("type")), "string"),
            "default": spec.get("default"),
            "choices": as_list(spec.get("enum")),
        }
        for name, spec in properties(schema).items()
    }


def _secrets(given: JsonObject) -> dict[str, JsonObject]:
    """The secrets, by their variables."""
    config = as_object(given.get("config"))
    return {
        str(as_object(x).get("env")): {
            "description": as_object(x).get("name"),
            "placeholder": as_object(x).get("example"),
            "isRequired": as_object(x).get("required") is not False,
            "isSecret": True,
        }
        for x in as_list(config.get("secrets"))
    }


def _package(given: JsonObject, known: dict[str, JsonObject]) -> JsonObject:
    run, config = as_object(given.get("run")), as_object(given.get("config"))
    environment = [_named(x, as_object(x).get("value"), known) for x in as_list(config.get("env"))]
    environment += [
        _named({"name": name}, value, known) for name, value in as_object(run.get("env")).items()
    ]
    used = " ".join(str(x.get("value")) for x in environment)
    environment += [
        {"name": name, **spec}
        for name, spec in _secrets(given).items()
        if f"{{{name}}}" not in used
    ]
    mounts = [
        _named({"type": "named", "name": "-v"}, x, known) for x in as_list(run.get("volumes"))
    ]
    options = [
        {"type": "named", "name": "--user", "value": run["user"]}
        for _ in range(isinstance(run.get("user"), str))
    ]
    return {
        "registryType": "oci",
        "identifier": given.get("image"),
        "transport": {"type": "stdio"},
        "runtimeArguments": [*mounts, *options],
        "packageArguments": [
            _named({"type": "positional"}, x, known) for x in as_list(run.get("command"))
        ],
        "environmentVariables": environment,
    }


def _remote(given: JsonObject, known: dict[str, JsonObject]) -> JsonObject:
    kind = given.get("transport_type")
    headers = as_object(given.get("headers")).items()
    return {
        "type": _TRANSPORTS.get(kind, kind) if isinstance(kind, str) else kind,
        **_with_variables(given.get("url"), known, key="url"),
        "headers": [_named({"name": name}, value, known) for name, value in headers],
    }


def _named(given: Any, value: Any, known: dict[str, JsonObject]) -> JsonObject:
    told = {key: x for key, x in as_object(given).items() if key in ("name", "type")}
    found = _with_variables(value, known)
    # It has no header without its secret, where nobody needs one.
    needs = [as_object(x) for x in as_object(found.get("variables")).values()]
    return {**told, **found, "isRequired": not needs or any(x.get("isRequired") for x in needs)}


def _with_variables(value: Any, known: dict[str, JsonObject], key: str = "value") -> JsonObject:
    """The value with `{name}` for each parameter and secret in it, and what these are."""
    if not isinstance(value, str):
        return {key: value}
    used: dict[str, JsonObject] = {}

    def parameter(found: re.Match[str]) -> str:
        used[found[1]] = known.get(found[1], {"isRequired": True})
        return f"{{{found[1]}}}"

    def secret(found: re.Match[str]) -> str:
        if found[1] not in known:
            return found[0]
        used[found[1]] = known[found[1]]
        return f"{{{found[1]}}}"

    text = _SECRET.sub(secret, _PARAMETER.sub(parameter, value))
    return {key: text, "variables": used}
