"""The parts of a settings file that have programs started, code loaded or addresses reached."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..secrets.redactor import Redactor, redact_args
from ..secrets.secrets import Secrets
from .document import Place

_DIGEST_CHARS = 32  # 128 bits, of a digest that nobody gains anything by guessing
# What neither starts nor reaches anything, nor lets anything through that was held.
_HARMLESS = frozenset({
    "breaker", "description", "disabled", "elicitationTimeout", "enabled", "instructions",
    "listTimeout", "logLevel", "maxResponseBytes", "probeTimeout", "registry", "startTimeout",
    "start_timeout", "timeout",
})  # fmt: skip
_ADDRESSES = ("url", "serverUrl", "httpUrl", "spec", "baseUrl", "base_url")
_FILES = ("file", "module", "workspace")
# Their values may be secrets, and their names tell enough.
_NAMED_ONLY = ("env", "headers")
_MOST_CHARS = 2_000
STORE, EMBEDDINGS, APPROVAL, RULES, REGISTRIES = (
    "store", "toolSearch.embeddings", "approval", "rules", "registries",
)  # fmt: skip
"""The places beside the sources that name an address or a file, or let calls through."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class Part:
    """One of them, as it is written: a source, or a `key_path` beside the sources.

    `digest` is another one when anything in it is that counts. `told` is what it would start or
    reach, for a person; what looks like a secret is hidden in it, and nothing else: whoever wrote
    the file could name a command as a secret.
    """

    key_path: str
    digest: str
    told: str
    source: str = ""


def parts_of(
    sections: Iterable[tuple[Mapping[Any, Any], Place]], beside: Iterable[tuple[Any, Place]]
) -> tuple[Part, ...]:
    """Those of the entries of these sections, and of the values beside them that are written."""
    return (*_of_entries(sections), *(_part(x, there) for x, there in beside if x))


def _of_entries(sections: Iterable[tuple[Mapping[Any, Any], Place]]) -> Iterator[Part]:
    for entries, place in sections:
        for name, entry in entries.items():
            yield _part(entry, place.at(str(name)), str(name))


def _part(written: Any, place: Place, source: str = "") -> Part:
    counts = written
    if isinstance(written, Mapping):
        given = cast(Mapping[Any, Any], written)
        counts = {str(key): x for key, x in given.items() if key not in _HARMLESS}
    data = _encode(counts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
    return Part(place.path, digest, _cut(_told(written)), source)


def _told(written: Any) -> str:
    if not isinstance(written, Mapping):
        return _hide(str(written))
    given = cast(Mapping[str, Any], written)
    command = [given.get("command"), *_list(given.get("args"))]
    found = [_command(command)] if command[0] else []
    found += [_hide(str(given[key])) for key in (*_ADDRESSES, *_FILES) if given.get(key)]
    named = [str(x) for key in _NAMED_ONLY for x in _mapping(given.get(key))]
    told = ", ".join(found) or _hide(_encode(given))
    return f"{told} (is given {', '.join(named)})" if named else told


def _cut(told: str) -> str:
    """Nothing is hidden behind what is long without a word of it."""
    more = len(told) - _MOST_CHARS
    return told if more <= 0 else f"{told[:_MOST_CHARS]}... and {more} more characters: read it"


def _command(words: list[Any]) -> str:
    return " ".join(map(shlex.quote, redact_args([str(x) for x in words], Secrets())))


def _hide(text: str) -> str:
    return Redactor((), guesses=True, environ={})(text)


def _list(value: Any) -> list[Any]:
    return list(cast(list[Any], value)) if isinstance(value, list | tuple) else []


def _mapping(value: Any) -> Mapping[Any, Any]:
    return cast(Mapping[Any, Any], value) if isinstance(value, Mapping) else {}
