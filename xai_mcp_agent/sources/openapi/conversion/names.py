"""Names of tools: the operation's own, or its method and path; no two the same."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from ....core.json import JsonObject

_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_NAME = 128  # shown names are cut further; nobody reads a longer one
_MAX_READ = 2_000  # of what a document has
_DIGEST = 8


@dataclass(frozen=True, slots=True)
class Found:
    """An operation as it stands in a document. `item` is what its path says of all of them."""

    path: str
    method: str
    raw: JsonObject
    item: JsonObject

    @property
    def slug(self) -> str:
        """The path as part of a name."""
        return re.sub(r"[{}]", "", self.path.partition("#")[0].replace("/", "_"))


def tool_names(operations: Iterable[Found]) -> dict[int, str]:
    """A name for each, by its `id`. They do not depend on the order in the document.

    Of several with the same operationId the first by path and method has it, the others add their
    method, then their path.
    """
    wishes: defaultdict[str, list[Found]] = defaultdict(list)
    for found in sorted(operations, key=_precedence):
        wishes[_own_name(found.raw.get("operationId")) or _made_name(found)].append(found)
    names: dict[int, str] = {}
    taken = set(wishes)
    for wish, several in wishes.items():
        names[id(several[0])] = wish
        for found in several[1:]:
            names[id(found)] = name = _other_name(wish, found, taken)
            taken.add(name)
    return names


def _precedence(found: Found) -> tuple[bool, str, str]:
    return not _own_name(found.raw.get("operationId")), found.path, found.method


def _own_name(given: Any) -> str:
    if not isinstance(given, str):
        return ""
    return _cut(_NOT_ALLOWED.sub("_", given[:_MAX_READ]).strip("_"))


def _made_name(found: Found) -> str:
    slug = _NOT_ALLOWED.sub("_", found.slug).rstrip("_")
    return _cut(f"{found.method.lower()}{slug if slug.startswith('_') else f'_{slug}'}".rstrip("_"))


def _other_name(wish: str, found: Found, taken: set[str]) -> str:
    said = f"{found.method} {found.path}"
    tries = chain(
        (f"{wish}_{found.method.lower()}", f"{wish}_{_made_name(found)}"),
        (f"{wish}_{_digest(f'{said} {x}')}" for x in count()),
    )
    return next(x for name in tries if (x := _cut(name)) not in taken)


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - _DIGEST - 1]}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
