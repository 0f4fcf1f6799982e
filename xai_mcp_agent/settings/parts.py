"""The parts of a settings file that have programs started, code loaded or addresses reached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .document import Place
from .facts import facts_of

_DIGEST_CHARS = 32  # 128 bits, of a digest that nobody gains anything by guessing
# What neither starts nor reaches anything, nor lets anything through that was held.
_HARMLESS = frozenset({
    "breaker", "description", "disabled", "elicitationTimeout", "enabled",
    "listTimeout", "logLevel", "maxResponseBytes", "probeTimeout", "registry", "required",
    "startTimeout", "start_timeout", "timeout",
})  # fmt: skip
STORE, EMBEDDINGS, REGISTRIES = "store", "toolSearch.embeddings", "registries"
"""The places beside the sources that name an address or a file."""

APPROVAL, RULES, BLOCKED, RECORD = "approval", "rules", "toolSearch.blocked", "record"
"""The places that hold calls back or let them through, or keep more of them: see `guards`."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class Part:
    """One of them, as it is written: a source, or a `key_path` beside the sources.

    `digest` is another one when anything in it is that counts; `facts` tell all of that to a
    person, in lines.
    """

    key_path: str
    digest: str
    facts: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """Something that is held back, by the section or the entry at `key_path`.

    More `strength` holds more. `shown` says it to a person, and `lost` what it means that it is
    missing or weaker. `digest` is that of what is held back.
    """

    key_path: str
    digest: str
    strength: int
    shown: str
    lost: str
    source: str = ""


def parts_of(
    sections: Iterable[tuple[Mapping[Any, Any], Place]], beside: Iterable[tuple[Any, Place]]
) -> tuple[Part, ...]:
    """Those of the entries of these sections, and of the values beside them that are written."""
    return (*_of_entries(sections), *(_part(x, there) for x, there in beside if x))


def digest_of(value: Any) -> str:
    """The digest of a JSON value."""
    data = _encode(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def _of_entries(sections: Iterable[tuple[Mapping[Any, Any], Place]]) -> Iterator[Part]:
    for entries, place in sections:
        for name, entry in entries.items():
            counts = entry
            if isinstance(entry, Mapping):
                written = cast(Mapping[Any, Any], entry)
                counts = {str(key): x for key, x in written.items() if key not in _HARMLESS}
            yield _part(counts, place.at(str(name)), str(name))


def _part(counts: Any, place: Place, source: str = "") -> Part:
    return Part(place.path, digest_of(counts), facts_of(counts), source)
