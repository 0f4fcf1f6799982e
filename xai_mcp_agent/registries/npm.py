"""npm: where it is, and what its packages say of themselves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.json import as_object, as_text
from ..settings.fields import wrong_with_url
from .values import NAME_CHARS, RegistryError, shown

_VARIABLES = ("npm_config_registry", "NPM_CONFIG_REGISTRY")
_FILE_VARIABLES = ("NPM_CONFIG_USERCONFIG", "npm_config_userconfig")
_LINE = re.compile(r"^\s*registry\s*=\s*[\"']?([^\s\"']+)", re.MULTILINE)
_ASK_SECONDS = 20.0  # npm takes a second or two to start


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """What a package says of itself at one version; `mcp_name` is the server that it says it is."""

    name: str = ""
    version: str = ""
    mcp_name: str = ""
    has_command: bool = False
    integrity: str = ""
    tarball: str = ""
    license: str = ""
    author: str = ""
    dependencies: dict[str, str] = field(default_factory=dict[str, str])

    @staticmethod
    def of(manifest: Any) -> NpmPackage:
        """Read the manifest of one version."""
        entry = as_object(manifest)
        dist, author = as_object(entry.get("dist")), entry.get("author")
        dependencies = list(as_object(entry.get("dependencies")).items())[:NAME_CHARS]
        return NpmPackage(
            as_text(entry.get("name")),
            as_text(entry.get("version")),
            shown(entry.get("mcpName"), NAME_CHARS),
            bool(as_object(entry.get("bin")) or as_text(entry.get("bin"))),
            shown(dist.get("integrity"), NAME_CHARS),
            shown(dist.get("tarball"), NAME_CHARS),
            shown(entry.get("license"), NAME_CHARS),
            shown(as_object(author).get("name") or author, NAME_CHARS),
            {shown(key, NAME_CHARS): shown(x, NAME_CHARS) for key, x in dependencies},
        )


def npm_address() -> str:
    """Return where npm is: as its variable says, its own files, or npm itself.

    Raises:
        RegistryError: nobody says so.
    """
    for address in _addresses():
        if address and not wrong_with_url(address):
            return address.rstrip("/")
    raise RegistryError(
        "Where npm's registry is cannot be told: npm is not installed, and npm_config_registry is "
        "not set. Write its address as `url` of that registry in the settings, or set the variable."
    )


def _addresses() -> Iterator[str]:
    yield from (os.environ.get(x, "").strip() for x in _VARIABLES)
    file = next((os.environ[x] for x in _FILE_VARIABLES if os.environ.get(x)), "")
    for path in (Path(".npmrc"), Path(file) if file else Path.home() / ".npmrc"):
        try:
            yield from reversed(_LINE.findall(path.read_text("utf-8", "replace")))
        except OSError:
            continue
    if npm := shutil.which("npm"):
        # Only npm knows its own default.
        command = [npm, "config", "get", "registry"]
        try:
            yield subprocess.run(
                command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True,
                stdin=subprocess.DEVNULL,
            ).stdout.strip()  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return
