"""Registries of MCP servers: the entries under `registries`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import ValidationInfo, model_validator

from ..secrets.redactor import redact_url
from .entry import MaskedUrl, TrimmedText
from .validation import INTERNAL, Section, context_of, mistake

RegistryType: TypeAlias = Literal["api", "list", "github", "npm"]
_KEYS_OF: Mapping[RegistryType, tuple[str, ...]] = {
    "api": ("url",),
    "list": ("url", "path"),
    "github": ("repository", "ref", "path", "url"),
    "npm": ("url", "keywords"),
}
_OFFICIAL_URL = "https://registry.modelcontextprotocol.io"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


@dataclass(frozen=True)
class RegistrySettings(Section):
    """One registry.

    `type`: `api` is a registry at `url` with the official API; `list` is a file or folder at
    `path`, or a document at `url`; `github` reads the files of a repository under `path` at `ref`;
    `npm` searches npm packages by `keywords`. An empty `url` is the usual one for the type.
    """

    example: ClassVar = (
        '{"url": ...} for a registry with the API, {"path": ...} for a folder or a list, '
        '{"repository": "owner/name"} for a repository on GitHub, or {"type": "npm"}'
    )
    is_strict: ClassVar = True

    name: Annotated[str, INTERNAL] = ""
    type: RegistryType = "api"
    url: MaskedUrl = field(default="", repr=False)  # it may contain a password
    path: TrimmedText = ""
    repository: TrimmedText = ""
    ref: TrimmedText = ""
    keywords: TrimmedText = "mcp-server"

    @model_validator(mode="before")
    @classmethod
    def _with_type(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"url": value}
        if not isinstance(value, Mapping) or "type" in value:
            return cast(Any, value)
        entry = cast(Mapping[str, Any], value)
        kind = "github" if entry.get("repository") else "list" if entry.get("path") else "api"
        return {**entry, "type": kind}

    @model_validator(mode="after")
    def _check_type(self, info: ValidationInfo) -> Self:
        keys = _KEYS_OF[self.type]
        usual = RegistrySettings()
        for key in (x for x in vars(usual) if x not in (*keys, "name", "type")):
            if getattr(self, key) != getattr(usual, key):
                problem = f"a registry of type {self.type} has no {key}."
                raise mistake(problem, f"Its keys are: {', '.join(keys)}.", key)
        fix = f"Write {self.example}."
        if self.type == "api" and not self.url:
            raise mistake("it has no `url`.", fix)
        if self.type == "list" and bool(self.url) == bool(self.path):
            raise mistake("a list needs either a `url` or a `path`.", fix)
        if self.type == "github" and not _REPOSITORY.fullmatch(self.repository):
            raise mistake("must be a repository on GitHub.", 'Write "owner/name".', "repository")
        if self.type == "github" and not _REF.fullmatch(self.ref):
            fix = 'Write the commit to read, such as "ref": "818bf169...", or a branch.'
            raise mistake("must be a commit or a branch.", fix, "ref")
        if self.type == "list" and self.path:
            path = os.path.join(context_of(info).variables.folder, os.path.expanduser(self.path))
            return replace(self, path=path)
        return self

    @property
    def address(self) -> str:
        """The address in one text, without secrets; the same registry has the same address."""
        parts = (redact_url(self.url), self.repository, self.ref, self.path)
        return " ".join(x for x in parts if x) or self.type

    @property
    def origin_name(self) -> str:
        """The name of this registry in entries added from it; never a path of this machine."""
        return self.name if self.type == "list" and self.path else self.address

    @property
    def is_official(self) -> bool:
        """Whether this is the official registry, in which publishers prove their names."""
        return self.type == "api" and self.url.rstrip("/") == _OFFICIAL_URL


USUAL_REGISTRIES = {"official": RegistrySettings("official", "api", _OFFICIAL_URL)}
"""The registries to use if the settings name none."""
