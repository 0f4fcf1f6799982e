"""An OpenAPI document: one file or several, read on demand, and from nowhere else.

A reference may lead to files in the document's folder or below it, or to the same host if the
document came from a URL. A file never leads to the network, or the network to a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

from ...core.errors import XaiMcpError
from ...core.json import JsonObject, as_object, as_texts, at, is_object, parts_of
from ...core.visible import visible_text
from ...core.yaml import YamlError, parse_yaml
from ..web.origins import origin_of

Read: TypeAlias = Callable[[str], bytes]
"""Return the bytes at a URI; raise OSError or BadReference. Called in the converting thread."""

MAX_BYTES = 64 * 1024 * 1024
"""Limit for one file. The largest published documents have about 40 MB."""

_BLANK = 10_000  # characters in which the format shows; JSON is YAML, too
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BUDGET = 64 * 1024 * 1024  # for all work on one document; see `Document.spend`
_LEAST_BYTES = 4_096  # the minimum cost of a file: opening it takes time, too
_MAX_TITLE = 200
_QUOTE_CHARS = 300
_NOTHING = object()


class BadDocument(XaiMcpError):
    """The document cannot be used at all; says where it is, why, and what to do."""


class NotReadable(ValueError):
    """The text is neither JSON nor YAML."""


class BadOperation(ValueError):
    """The operation cannot become a tool; says why."""


class BadReference(BadOperation):
    """The reference leads nowhere, or outside the allowed files; says why."""


class EndlessReference(BadReference):
    """The references lead only to each other."""


# Texts


def parse(data: bytes | str) -> Any:
    """Parse JSON, or YAML 1.2 as OpenAPI requires, into what `json.loads` would return.

    Raises:
        NotReadable: it is neither; says why.
    """
    text = _decode(data) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    value = _parse(text)
    if _SURROGATE.search(text):
        # JSON can express half of a pair, but it cannot be sent.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def _parse(text: str) -> Any:
    problem, begins = "", text[:_BLANK].lstrip()[:1]
    if begins == "<":  # such as Swagger UI, at `/docs` of FastAPI and `/api` of Nest
        problem = "it is a web page or XML. A page of documentation names its document's address"
        raise NotReadable(problem)
    if begins in ("{", "["):
        try:
            return json.loads(text)
        except RecursionError:
            raise NotReadable("it is nested too deeply") from None
        except ValueError as cause:  # it may be YAML
            problem = f"it is not JSON: {str(cause)[:_QUOTE_CHARS]}"
    try:
        return parse_yaml(text)
    except YamlError as cause:
        raise NotReadable(problem or str(cause)) from None


def texts_of(value: Any) -> list[str]:
    """Return the texts in a list without duplicates."""
    return list(dict.fromkeys(as_texts(value)))


def text_of(value: Any, at_most: int) -> str:
    """Return a text, cut and without invisible characters; empty if the value is not a text."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""


def _decode(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise NotReadable("it is not text in UTF-8") from None


# Files


def read_nothing(uri: str) -> bytes:
    """Refuse to read further files for a document that a program passed as data."""
    raise BadReference("leads to another file; load the document by its path or URL")


def read_file(file: Path) -> bytes:
    """Read a whole file; raise OSError if it is missing or too large."""
    if not file.is_file():  # a pipe may never end
        raise FileNotFoundError("there is no such file")
    if file.stat().st_size > MAX_BYTES:
        raise OSError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    return file.read_bytes()


def read_document(file: Path) -> bytes:
    """Read a document from its file.

    Raises:
        BadDocument: the file is missing or cannot be read.
    """
    try:
        return read_file(file)
    except OSError as cause:
        problem = cause.strerror or str(cause)
        raise BadDocument(f"{file} cannot be read: {problem}. Give a file or a URL.") from None


def path_of(uri: str) -> Path:
    """Return the path of a `file:` URI."""
    return Path(url2pathname(urlsplit(uri).path))


def files_beside(file: Path) -> Read:
    """Return a reader for files in the document's folder and below, with links resolved."""

    def read(uri: str) -> bytes:
        path = path_of(uri).resolve()
        if not path.is_relative_to(file.parent.resolve()):
            raise BadReference("leads out of the folder of the document")
        return read_file(path)

    return read


class Document:
    """A document's root and the files that it refers to, each read once.

    `uri` is where it came from: a `file:` or `https:` URI, or empty.

    Raises:
        BadDocument: it is neither JSON nor YAML, or not an OpenAPI document.
    """

    def __init__(
        self,
        data: bytes | str,
        uri: str = "",
        read: Read = read_nothing,
        name: str = "the document",
    ) -> None:
        try:
            self.root = as_object(parse(data))
        except NotReadable as cause:
            raise BadDocument(f"{name} cannot be read: {cause}. Give JSON or YAML.") from None
        self.uri = uri
        self.openapi_version = _openapi_version(self.root, name)
        info = as_object(self.root.get("info"))
        self.title = text_of(info.get("title"), _MAX_TITLE)
        self.version = text_of(_version_text(info.get("version")), _MAX_TITLE)
        self._read = read
        self._budget = _BUDGET
        self._files: dict[str, Any] = {uri: self.root}
        with suppress(BadReference):
            own_name = text_of(self.root.get("$self"), _QUOTE_CHARS)
            self._files[_join(uri, own_name.partition("#")[0])] = self.root

    @property
    def is_swagger(self) -> bool:
        """Whether the document is Swagger 2.0."""
        return self.openapi_version.startswith("2")

    @property
    def is_old(self) -> bool:
        """Whether the version is before 3.1: its schemas are not quite JSON Schema."""
        return self.is_swagger or self.openapi_version.startswith("3.0")

    def spend(self, work: int) -> None:
        """Charge work to the document's budget: a unit is about a byte read, or 0.1 microseconds.

        Raises:
            BadOperation: the budget is used up.
        """
        self._budget -= work
        if self._budget < 0:
            raise BadOperation("the document is too large to be read further")

    # References

    def follow(self, value: Any) -> JsonObject:
        """Return the object, or the referenced object merged with the keys beside `$ref`.

        Raises:
            BadReference: it leads nowhere, to a place that is not allowed, or to no object.
        """
        result, chain = as_object(value), list[str]()
        while isinstance(reference := result.get("$ref"), str):
            _extend(chain, reference)
            target = self.target(reference)
            if not isinstance(target, dict):
                raise BadReference(f"{reference[:_QUOTE_CHARS]} does not lead to an object")
            beside = {word: x for word, x in result.items() if word != "$ref"}
            result = {**as_object(target), **beside}
        return result

    def end_of(self, reference: str) -> tuple[str, Any]:
        """Return the last reference of a chain, as an absolute URI, and its target.

        Raises:
            BadReference: it leads nowhere, or to a place that is not allowed.
        """
        chain = [reference]
        target = self.target(reference)
        while isinstance(successor := as_object(target).get("$ref"), str) and len(target) == 1:
            _extend(chain, successor)
            target = self.target(successor)
        key, mark, fragment = chain[-1].partition("#")
        uri = _join(self.uri, key)
        return f"{'' if self._files[uri] is self.root else uri}{mark}{fragment}", target

    def target(self, reference: str) -> Any:
        """Return the target of a reference.

        Raises:
            BadReference: it leads nowhere, or to a place that is not allowed.
        """
        key, _, fragment = reference.partition("#")
        root = self.file(key)
        # Some names contain a percent sign and are not encoded.
        places = (at(root, x, _NOTHING) for x in (unquote(fragment), fragment))
        target = next((x for x in places if x is not _NOTHING), _NOTHING)
        if target is _NOTHING:
            raise BadReference(f"{reference[:_QUOTE_CHARS]} leads to nothing")
        return target

    def file(self, key: str) -> Any:
        """Return a file's content, with its references made absolute.

        Raises:
            BadReference: the file is not allowed, or cannot be read or parsed.
        """
        uri = _join(self.uri, key)
        if uri not in self._files:
            self._files[uri] = self._load(uri)
        if isinstance(content := self._files[uri], BadReference):
            raise BadReference(str(content))
        return content

    def _load(self, uri: str) -> Any:
        try:
            if self.uri and origin_of(uri) != origin_of(self.uri):
                raise BadReference("leads to another host than the document's")
            self.spend(_LEAST_BYTES)
            data = self._read(uri)
            self.spend(len(data))
            content = parse(data)
        except BadOperation as cause:
            reason = str(cause)
        except (OSError, ValueError) as cause:
            why = getattr(cause, "strerror", None) or cause
            reason = f"leads to a file that cannot be read ({why})"
        else:
            _make_absolute(content, uri)
            return content
        return BadReference(f"{reason}: {uri[:_QUOTE_CHARS]}")


def _extend(chain: list[str], reference: str) -> None:
    if reference in chain:
        raise EndlessReference(f"{reference[:_QUOTE_CHARS]} leads to itself")
    chain.append(reference)


def _join(uri: str, reference: str) -> str:
    """Return the absolute URI.

    Raises:
        BadReference: the reference is not an address.
    """
    try:
        return urljoin(uri, reference)
    except ValueError:
        raise BadReference(f"leads to an invalid address: {reference[:_QUOTE_CHARS]}") from None


def _make_absolute(content: Any, uri: str) -> None:
    for part in filter(is_object, parts_of(content)):
        if isinstance(reference := part.get("$ref"), str):
            key, mark, fragment = reference.partition("#")
            with suppress(BadReference):  # reported when the reference is followed
                part["$ref"] = f"{_join(uri, key)}{mark}{fragment}"


def _version_text(value: Any) -> str:
    """Return a version as text; without quotes, YAML reads it as a number."""
    return str(value) if isinstance(value, str | int | float) else ""


def _openapi_version(root: Mapping[str, Any], name: str) -> str:
    version = _version_text(root.get("openapi", root.get("swagger")))
    is_known = version.startswith("3") if "openapi" in root else version in ("2", "2.0")
    if is_known:
        return version
    if version:
        problem = f"has the version {version[:_QUOTE_CHARS]!r}"
    else:
        problem = "has neither `openapi` nor `swagger`"
    raise BadDocument(
        f"{name} {problem}. Give a document of OpenAPI 3.0, 3.1 or 3.2, or of Swagger 2.0."
    )
