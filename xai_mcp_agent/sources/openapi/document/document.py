"""A document of a service: one file or several, read on demand, and never from anywhere else.

A reference may lead to files in the folder of the document or below it, or, of a document that came
from a URL, to the same host. A file never leads to the network, nor the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import unquote, urljoin

from ....core.json import JsonObject, as_object, children
from ...web.origins import origin_of
from .parsing import MAX_BYTES, BadDocument, NotReadable, parsed
from .values import text_of

Fetch: TypeAlias = Callable[[str], bytes]
"""Gets what is at a URL; raises OSError where that cannot be. Called in the thread that reads."""

# One that is split into a file for each operation and schema has about 3,000.
_MAX_FILES = 5_000
_MAX_TITLE = 200
_MAX_VERSION = 10**12  # a date and a time; of larger numbers Python writes no text
_SHOWN = 300  # characters of a reference
_IS_ELSEWHERE = "leads out of the folder of the document"


class BadOperation(ValueError):
    """An operation that cannot become a tool; says why."""


class BadReference(BadOperation):
    """A reference that leads nowhere, or where it may not lead; says why."""


class Place(Protocol):
    """Where a document is. A key names one of its files: relative to its folder, or a URL."""

    @property
    def key(self) -> str:
        """Of the document itself."""
        ...

    def joined(self, key: str, reference: str) -> str:
        """The key of what a file refers to; raises BadReference where that is no address."""
        ...

    def read(self, key: str) -> bytes:
        """What is there; raises OSError, or BadReference where nothing may be read."""
        ...


class Nowhere:
    """A document that was given as it is: there is nothing beside it."""

    key = ""

    def joined(self, key: str, reference: str) -> str:
        """What it refers to, as it says it."""
        return reference

    def read(self, key: str) -> bytes:
        """Nothing is ever read."""
        raise BadReference("leads to another file; give the document by its file or URL")


class Folder:
    """The folder of a document in a file."""

    def __init__(self, file: Path) -> None:
        self._folder = file.parent.resolve()
        self.key = file.name

    def joined(self, key: str, reference: str) -> str:
        """The path from the folder of the document."""
        if "://" in reference or reference.startswith(("file:", "//")):
            return reference
        return normpath(join(dirname(key), unquote(reference)))

    def read(self, key: str) -> bytes:
        """A file in the folder or below it, wherever links lead."""
        if ":" in key.partition("/")[0] or key.startswith("//"):
            raise BadReference("leads to a URL, which a file may not")
        if key.startswith(("/", "..")) or "\\" in key or "\0" in key:
            raise BadReference(_IS_ELSEWHERE)
        file = (self._folder / key).resolve()
        if not file.is_relative_to(self._folder):
            raise BadReference(_IS_ELSEWHERE)
        return read_file(file)


class Site:
    """The host of a document behind a URL."""

    def __init__(self, url: str, fetch: Fetch) -> None:
        self.key = url
        self._origin = origin_of(url)
        self._fetch = fetch

    def joined(self, key: str, reference: str) -> str:
        """The whole URL."""
        try:
            return urljoin(key, reference)
        except ValueError as cause:
            raise BadReference(f"{reference[:_SHOWN]!r} is no address: {cause}") from None

    def read(self, key: str) -> bytes:
        """What the same host has there."""
        if origin_of(key) != self._origin:
            raise BadReference("leads to another host than that of the document")
        return self._fetch(key)


def read_file(file: Path) -> bytes:
    """The whole file; raises OSError where it is none, or too large."""
    if not file.is_file():  # what is no file may never end
        raise FileNotFoundError("there is no such file")
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    return data


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which words a document uses, by the version that it says it is of."""

    version: str

    @property
    def is_swagger(self) -> bool:
        """Whether it is Swagger 2.0."""
        return self.version.startswith("2.")

    @property
    def is_old(self) -> bool:
        """Whether its schemas are not JSON Schema, but something like it: before 3.1."""
        return self.is_swagger or self.version.startswith("3.0")


class Document:
    """What a document says, and the files that it refers to, each read once.

    Raises:
        BadDocument: it is no OpenAPI document.
    """

    def __init__(self, root: Any, place: Place | None = None, name: str = "the document") -> None:
        self.place = place or Nowhere()
        self.root = as_object(root)
        self.dialect = Dialect(_version(self.root, name))
        info = as_object(self.root.get("info"))
        self.title = text_of(info.get("title"), _MAX_TITLE)
        self.version = text_of(_word(info.get("version")), _MAX_TITLE)
        self._files: dict[str, Any] = {self.place.key: self.root}
        self._failures: dict[str, str] = {}
        self._parts: list[str] = []
        self._bytes_left = MAX_BYTES
        self._own = (self.place.key, *self._own_names())

    @classmethod
    def of(
        cls, data: bytes | str, place: Place | None = None, name: str = "the document"
    ) -> Document:
        """The document in a text.

        Raises:
            BadDocument: it is neither JSON nor YAML, or no OpenAPI document.
        """
        try:
            return cls(parsed(data), place, name)
        except NotReadable as cause:
            raise BadDocument(f"{name} cannot be read: {cause}. Give JSON or YAML.") from None

    def _own_names(self) -> tuple[str, ...]:
        """What it calls itself, as it says that, and seen from where it is."""
        name = text_of(self.root.get("$self"), _SHOWN).partition("#")[0]
        if not name:
            return ()
        try:
            return name, self.place.joined(self.place.key, name)
        except BadReference:
            return (name,)

    @property
    def parts(self) -> tuple[str, ...]:
        """The keys of the other files that it refers to and may, those that were not read too."""
        return tuple(self._parts)

    def file(self, key: str) -> Any:
        """What a file says, its references made such that they hold in the document itself.

        Raises:
            BadReference: it may not be read, cannot be, or says nothing.
        """
        if key in self._own:
            return self.root
        if key not in self._files:
            if key in self._failures:
                raise BadReference(self._failures[key])
            try:
                self._files[key] = self._read(key)
            except (BadReference, NotReadable, OSError, ValueError) as cause:
                self._failures[key] = f"{_reason(cause)}: {key[:_SHOWN]}"
                raise BadReference(self._failures[key]) from None
        return self._files[key]

    def _read(self, key: str) -> Any:
        if len(self._files) > _MAX_FILES or len(self._failures) > _MAX_FILES:
            raise BadReference(f"is one of more than {_MAX_FILES:,} files")
        self._check_bytes()
        self._parts.append(key)
        try:
            data = self.place.read(key)
        except BadReference:
            self._parts.remove(key)  # it is none of its own
            raise
        self._bytes_left -= len(data)
        self._check_bytes()
        found = parsed(data)
        self._make_absolute(found, key)
        return found

    def _check_bytes(self) -> None:
        if self._bytes_left < 0:  # nothing more is even read
            raise BadReference(f"makes it more than {MAX_BYTES // 1024**2} MiB in all")

    def _make_absolute(self, found: Any, key: str) -> None:
        waiting, seen = [found], set[int]()
        while waiting:
            part = waiting.pop()
            if id(part) in seen:  # YAML's aliases
                continue
            if isinstance(part, dict):
                self._make_reference_absolute(as_object(part), key)
            if isinstance(part, dict | list):
                seen.add(id(cast(object, part)))
                waiting += children(part)

    def _make_reference_absolute(self, part: JsonObject, key: str) -> None:
        for word in ("$ref", "$dynamicRef"):
            reference = part.get(word)
            if isinstance(reference, str):
                file, mark, fragment = reference.partition("#")
                with suppress(BadReference):  # told where it is followed
                    whole = self.place.joined(key, file) if file else key
                    part[word] = f"{whole}{mark}{fragment}"


def _reason(cause: Exception) -> str:
    if isinstance(cause, BadReference):
        return str(cause)
    if isinstance(cause, OSError):
        return f"leads to what cannot be read ({cause.strerror or cause})"
    return f"leads to what cannot be read ({cause})"


def _word(value: Any) -> str:
    """What somebody wrote as a version, with or without quotes."""
    is_number = isinstance(value, int | float) and abs(value) < _MAX_VERSION
    return str(value) if isinstance(value, str) or is_number else ""


def _version(root: Mapping[str, Any], name: str) -> str:
    version = _word(root.get("openapi", root.get("swagger")))
    is_known = version.startswith("3") if "openapi" in root else version in ("2", "2.0")
    if is_known:
        return version
    if not version:
        problem = "has neither `openapi` nor `swagger` in it"
    else:
        problem = f"says that it is of version {version[:_SHOWN]!r}"
    raise BadDocument(
        f"{name} {problem}. Give a document of OpenAPI 3.0, 3.1 or 3.2, or of Swagger 2.0."
    )
