"""Entries as other clients have them: a map under `mcpServers`, with commands or URLs.

A command counts where it is a runner with one package, so that what is known of packages is
known of it; any other is refused. `${NAME}` becomes a value to give.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from ...core.json import JsonObject, as_list, as_object
from ..values import Document, Refused

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET = re.compile(r"key|token|secret|password|credential|auth", re.IGNORECASE)
_TYPES = {"npx": "npm", "uvx": "pypi", "dnx": "nuget", "docker": "oci"}
_ALONE = {"-y", "--yes", "-i", "--rm", "--interactive", "--init", "run", "-q", "--quiet", "--"}


def ready_document(name: str, entry: Any, place: str) -> Document:
    """One of these entries in the words of server.json; it has no version of its own.

    Raises:
        Refused: it starts something else than a package.
    """
    given = as_object(entry)
    server: JsonObject = {"name": name, "description": given.get("description"), "version": ""}
    if url := given.get("url") or given.get("serverUrl") or given.get("httpUrl"):
        server["remotes"] = [_remote(given, url)]
    else:
        server["packages"] = [_package(name, given)]
    return Document(name, "", server, given, place=place, has_namespace=False)


def _remote(given: JsonObject, url: Any) -> JsonObject:
    said = str(given.get("type") or given.get("transport") or "").replace("_", "-").lower()
    is_sse = said == "sse" or (not said and str(url).partition("?")[0].endswith("/sse"))
    headers = as_object(given.get("headers")).items()
    return {
        "type": "sse" if is_sse else "streamable-http",
        **_value(url, key="url"),
        "headers": [{"name": name, **_value(x), "isRequired": True} for name, x in headers],
    }


def _package(name: str, given: JsonObject) -> JsonObject:
    command = given.get("command")
    kind = _TYPES.get(PurePath(command).name) if isinstance(command, str) else None
    if kind is None or command != PurePath(str(command)).name:
        raise Refused(name, "it starts a program that is no runner of packages")
    words = [str(x) for x in as_list(given.get("args"))]
    at = next((n for n, x in enumerate(words) if not x.startswith("-") and x != "run"), len(words))
    before, after = words[:at], words[at + 1 :]
    if any(x not in _ALONE for x in before) or at == len(words):
        raise Refused(name, "its arguments do not begin with the package")
    environment = as_object(given.get("env")).items()
    return {
        "registryType": kind,
        **_package_named(kind, words[at]),
        "packageArguments": [
            {"type": "positional", **_value(x), "isRequired": True} for x in after if x != "--"
        ],
        "environmentVariables": [
            {"name": key, **_value(x), "isRequired": True} for key, x in environment
        ],
    }


def _package_named(kind: str, word: str) -> JsonObject:
    if kind == "oci":
        return {"identifier": word}
    mark = "==" if kind == "pypi" and "==" in word else "@"
    head, _, version = word[1:].rpartition(mark) if mark in word[1:] else (word[1:], "", "")
    return {"identifier": word[:1] + head, "version": version}


def _value(value: Any, key: str = "value") -> JsonObject:
    """The text with `{NAME}` for each of its variables, which have to be given."""
    if not isinstance(value, str):
        return {key: value}
    used: dict[str, JsonObject] = {}

    def variable(found: re.Match[str]) -> str:
        used[found[1]] = {"isRequired": True, "isSecret": bool(_SECRET.search(found[1]))}
        if found[2] is not None:
            used[found[1]] = {"default": found[2]}
        return f"{{{found[1]}}}"

    return {key: _VARIABLE.sub(variable, value), "variables": used}
