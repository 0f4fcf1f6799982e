"""Which registries of MCP servers are looked through: the section `registries`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..secrets.redactor import redact_url, secrets_in_url
from .document import Place, kind_of, repeated_keys
from .http import wrong_with_url
from .interpolation import Variables

SECTION = "registries"
OFFICIAL = "official"
_OFFICIAL_URL = "https://registry.modelcontextprotocol.io"

RegistryType: TypeAlias = Literal["api", "list", "github", "npm"]
_KEYS_OF: dict[str, tuple[str, ...]] = {
    "api": ("url",),
    "list": ("url", "path"),
    "github": ("repository", "ref", "path", "url"),
    "npm": ("url", "keywords"),
}
_KEYS = ("type", *dict.fromkeys(x for keys in _KEYS_OF.values() for x in keys))
_FIX = (
    'Write {"url": ...} for one with the API, {"path": ...} for a folder or a list, '
    '{"repository": "owner/name"} for one of GitHub, or {"type": "npm"}.'
)
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """One registry.

    `type`: `api` has the API of the official one at `url`; `list` is a file or folder at `path`, or
    a document at `url`; `github` is what a repository has under `path` at `ref`; `npm` are the
    packages there that have `keywords`. An empty `url` is the usual one of that type.
    """

    name: str
    type: RegistryType
    url: str = field(default="", repr=False)  # a password may stand in it
    path: str = ""
    repository: str = ""
    ref: str = ""
    keywords: str = "mcp-server"

    @property
    def address(self) -> str:
        """Where it is, in a word, without secrets: equal for what is the same registry."""
        parts = (redact_url(self.url), self.repository, self.ref, self.path)
        return " ".join(x for x in parts if x) or self.type

    @property
    def noted_as(self) -> str:
        """What entries that came from it note: a place on this machine by its name in settings."""
        return self.name if self.type == "list" and self.path else self.address

    @property
    def is_official(self) -> bool:
        """Whether it is the registry that has publishers prove their names."""
        return self.type == "api" and self.url.rstrip("/") == _OFFICIAL_URL


USUAL_REGISTRIES = {OFFICIAL: RegistrySettings(OFFICIAL, "api", _OFFICIAL_URL)}
"""Those that there are where the settings say nothing."""


def read_registries(
    written: Any, place: Place, variables: Variables, notes: list[str]
) -> dict[str, RegistrySettings]:
    """The usual ones and those that are written there; `false` takes one away.

    What is wrong is added to the notes, and that registry is left out.
    """
    found = dict(USUAL_REGISTRIES)
    if written is None:
        return found
    if not isinstance(written, Mapping):
        problem = f"must be an object of registries, but is {kind_of(written)}."
        notes.append(str(place.error(problem, f'Write {{"name": ...}}. {_FIX}')))
        return found
    for twice in repeated_keys(written, place):
        notes.append(str(twice.error("this key is written more than once.", "Join them.")))
    for key, value in cast(Mapping[Any, Any], written).items():
        name = str(key)
        found.pop(name, None)
        if value is False or value is None:
            continue
        try:
            found[name] = _registry(name, value, place.at(name), variables)
        except SettingsError as reason:
            notes.append(str(reason))
    return found


def _registry(name: str, value: Any, place: Place, variables: Variables) -> RegistrySettings:
    if isinstance(value, str):
        value = {"url": value}
    if not isinstance(value, Mapping):
        raise place.error(f"must be an object, but is {kind_of(value)}.", _FIX)
    given = cast(Mapping[Any, Any], value)
    texts = {str(key): _text(x, place.at(str(key)), variables) for key, x in given.items()}
    kind = _type_of(texts, place)
    for key in (x for x in texts if x != "type" and x not in _KEYS_OF[kind]):
        hint = did_you_mean(key, _KEYS_OF[kind])
        raise place.at(key).error("this key is not known here.", hint or _FIX)
    _check(kind, texts, place)
    variables.secrets.update(secrets_in_url(texts.get("url", "")))
    told = {key: x for key, x in texts.items() if x and key != "type"}
    if kind == "list" and "path" in told:
        told["path"] = os.path.join(variables.folder, os.path.expanduser(told["path"]))
    return RegistrySettings(name, kind, **told)


def _type_of(texts: Mapping[str, str], place: Place) -> RegistryType:
    said = texts.get("type") or (
        "github" if texts.get("repository") else "list" if texts.get("path") else "api"
    )
    if said not in _KEYS_OF:
        problem = f"must be one of {', '.join(_KEYS_OF)}."
        raise place.at("type").error(problem, did_you_mean(said, _KEYS_OF) or "Correct it.")
    return cast(RegistryType, said)


def _check(kind: RegistryType, texts: Mapping[str, str], place: Place) -> None:
    url, path = texts.get("url", ""), texts.get("path", "")
    if url and (problem := wrong_with_url(url)):
        raise place.at("url").error(problem, "Write a full address such as https://example.com.")
    if kind == "api" and not url:
        raise place.error("it has no `url`.", _FIX)
    if kind == "list" and bool(url) == bool(path):
        raise place.error("a list needs either a `url` or a `path`.", _FIX)
    if kind != "github":
        return
    if not _REPOSITORY.fullmatch(texts.get("repository", "")):
        raise place.at("repository").error("is no repository.", 'Write "owner/name".')
    if not _REF.fullmatch(texts.get("ref", "")):
        fix = 'Write the commit to read, such as "ref": "818bf169...", or a branch.'
        raise place.at("ref").error("it is missing, or names no commit or branch.", fix)


def _text(value: Any, place: Place, variables: Variables) -> str:
    if not isinstance(value, str):
        raise place.error(f"must be a text, but is {kind_of(value)}.", "Put it in quotes.")
    return variables.expand(value, place).strip()
