"""npm's search, and the manifests of packages. Where npm is, its own configuration says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ...core.json import as_object
from ...secrets.redactor import redact_url
from ...settings.fields import wrong_with_url
from ...sources.fetching import FetchLimits
from ..forms.lists import safely
from ..forms.npm import Manifest, npm_document, npm_manifest, packages_in
from ..values import Document, RegistryError
from .base import Page, fetched_json

_PAGE = 250  # packages; npm gives no more
_VARIABLES = ("npm_config_registry", "NPM_CONFIG_REGISTRY")
_LINE = re.compile(r"^\s*registry\s*=\s*(\S+)\s*$", re.MULTILINE)
_ASK_SECONDS = 20.0  # npm takes a second or two to start
_MOST_BYTES = 1_000_000


class NpmReader:
    """`url` is where npm is; `keywords` are what its packages are to have."""

    def __init__(self, url: str, keywords: str) -> None:
        self._base = url.rstrip("/")
        self._keywords = keywords

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`. npm tells nothing by time: all of it is read each time."""
        start = int(cursor) if cursor.isdecimal() else 0
        asked = {"text": f"keywords:{self._keywords}", "size": str(_PAGE), "from": str(start)}
        found, size = fetched_json(f"{self._base}/-/v1/search?{urlencode(asked)}", limits)
        packages, total = packages_in(found)
        ends = start + len(packages)
        following = str(ends) if packages and ends < total else ""
        documents = [self._document(x) for x in packages]
        return Page(documents, following, size)

    def document(self, name: str, version: str, limits: FetchLimits) -> Document:
        """A package by its name.

        Raises:
            Answered: there is no such package, or no such version.
            OSError: it cannot be asked.
        """
        url = f"{self._base}/{quote(name, safe='@')}/{quote(version, safe='')}"
        found, _ = fetched_json(url, limits)
        document = self._document({"package": found})
        if not document.refused and document.name != name:
            raise OSError("the answer is about another package")
        return document

    def _document(self, found: Any) -> Document:
        name = as_object(as_object(found).get("package")).get("name")
        return safely(lambda: npm_document(found, redact_url(self._base)), name)

    def manifest(self, identifier: str, version: str, limits: FetchLimits) -> Manifest:
        """What a package says of itself.

        Raises:
            Answered: there is no such package, or no such version.
            OSError: it cannot be asked, or says something of another package.
        """
        url = f"{self._base}/{quote(identifier, safe='@')}/{quote(version, safe='')}"
        found, _ = fetched_json(url, limits)
        told = npm_manifest(found)
        if told.name != identifier or told.version != version:
            raise OSError("the answer is about another package")
        return told


def npm_address(environ: Mapping[str, str] | None = None) -> str:
    """Where npm is: what its variable says, its own files, or npm itself.

    Raises:
        RegistryError: nobody says so.
    """
    environ = os.environ if environ is None else environ
    for found in _named(environ):
        if found and not wrong_with_url(found):
            return found.rstrip("/")
    raise RegistryError(
        "Where npm's registry is cannot be told: npm is not installed, and npm_config_registry is "
        "not set. Write its address as `url` of that registry in the settings, or set the variable."
    )


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    yield from (environ.get(x, "").strip() for x in _VARIABLES)
    user = environ.get("NPM_CONFIG_USERCONFIG") or environ.get("npm_config_userconfig")
    for file in (Path(".npmrc"), Path(user) if user else Path.home() / ".npmrc"):
        yield _in_file(file)
    yield _told_by_npm(environ)


def _in_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    found = _LINE.findall(text)
    return found[-1].strip("\"'") if found else ""


def _told_by_npm(environ: Mapping[str, str]) -> str:
    """What npm has as its own default; only it knows that."""
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        return ""
    command = [npm, "config", "get", "registry"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False,
            stdin=subprocess.DEVNULL, env=dict(environ),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
