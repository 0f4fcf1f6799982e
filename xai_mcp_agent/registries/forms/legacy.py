"""The form of the official registry's first seed, of May 2025: with underscores."""

from __future__ import annotations

import re
from typing import Any

from ...core.json import JsonObject, as_list, as_object
from ..values import Document

_KEYS = {
    "registry_name": "registryType", "name": "identifier", "runtime_hint": "runtimeHint",
    "runtime_arguments": "runtimeArguments", "package_arguments": "packageArguments",
    "environment_variables": "environmentVariables", "is_required": "isRequired",
    "is_secret": "isSecret", "is_repeated": "isRepeated", "value_hint": "valueHint",
}  # fmt: skip
_TYPES = {"docker": "oci"}
_SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


def is_legacy(value: Any) -> bool:
    """Whether it is one of these."""
    given = as_object(value)
    return "version_detail" in given or any(
        "registry_name" in as_object(x) for x in as_list(given.get("packages"))
    )


def legacy_document(given: JsonObject, place: str) -> Document:
    """The same in the words of today. Variables of which nothing is said have to be given."""
    detail = as_object(given.get("version_detail"))
    name, version = given.get("name"), detail.get("version")
    server: JsonObject = {
        "name": name,
        "description": given.get("description"),
        "version": version,
        "repository": given.get("repository"),
        "packages": [_package(as_object(x)) for x in as_list(given.get("packages"))],
        "remotes": given.get("remotes"),
    }
    meta: JsonObject = {"publishedAt": detail.get("release_date")}
    if isinstance(latest := detail.get("is_latest"), bool):
        meta["isLatest"] = latest
    told = [x if isinstance(x, str) else "" for x in (name, version)]
    return Document(told[0], told[1], server, given, meta, place=place)


def _package(given: JsonObject) -> JsonObject:
    found = _renamed(given, _KEYS)
    kind = found.get("registryType")
    found["registryType"] = _TYPES.get(kind, kind) if isinstance(kind, str) else kind
    for key in ("runtimeArguments", "packageArguments"):
        found[key] = [
            _renamed(as_object(x), {**_KEYS, "name": "name"}) for x in as_list(found.get(key))
        ]
    found["environmentVariables"] = [
        _variable(as_object(x)) for x in as_list(found.get("environmentVariables"))
    ]
    if found["registryType"] == "oci" and found.get("version"):
        found["identifier"] = f"{found.get('identifier')}:{found.pop('version')}"
    return found


def _variable(given: JsonObject) -> JsonObject:
    found = _renamed(given, {**_KEYS, "name": "name"})
    found.setdefault("isRequired", found.get("default") is None)
    found.setdefault("isSecret", bool(_SECRET.search(str(found.get("name")))))
    return found


def _renamed(given: JsonObject, keys: dict[str, str]) -> JsonObject:
    return {keys.get(key, key): x for key, x in given.items()}
