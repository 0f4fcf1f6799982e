"""The parts of a settings file that need a person's agreement, and their lines in that question.

A part starts a program, loads code, reaches an address, or lets calls through. Every value of it
has a line: a sentence, or `key: value`. Only values that look like secrets are masked: the author
of the file could declare a command to be a secret.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from ..core.names import listed
from ..core.tools import digest_of_value
from ..core.visible import escaped
from ..secrets.redactor import Redactor, is_secret, redact_args
from ..secrets.secrets import MASK, Secrets
from .approval import EVERY_TOOL
from .document import Place
from .interpolation import split_variables, variables_in

# Keys that start nothing, reach nothing and let nothing through.
_HARMLESS = frozenset({
    "breaker", "description", "disabled", "elicitationTimeout", "enabled", "keepWarm",
    "listTimeout", "logLevel", "maxResponseBytes", "probeTimeout", "registry", "required",
    "startTimeout", "start_timeout", "timeout",
})  # fmt: skip
STORE, EMBEDDINGS, REGISTRIES = "store", "toolSearch.embeddings", "registries"
"""Sections with an address or a file."""
ENV_FILE = ".env"
"""The file beside the settings with values of variables."""

APPROVAL, RULES, BLOCKED, RECORD = "approval", "rules", "toolSearch.blocked", "record"
"""Sections that hold calls back, let them through, or record them: see `guards`."""

_ADDRESSES = ("url", "serverUrl", "httpUrl", "baseUrl", "base_url", "spec")
_SENTENCES = {
    **dict.fromkeys(_ADDRESSES, "reaches {}"),
    "file": "runs the code in {}",
    "module": "runs the code of the module {}",
    "cwd": "works in the folder {}",
    "workspace": "may use the files in {}",
    "tools": "has the tools {}",
    "roots": "gets the folders {} as its roots",
    "sampling": "use of your model (sampling): {}",
}
_OF_APPROVAL = {
    "allow": "called without your approval: {}",
    "ask_unless_read_only": "called without your approval where it only reads: {}",
    "ask": "called after your approval only: {}",
    "deny": "never called: {}",
}
_NAMED = {"env": ("gets", "environment variable"), "headers": ("is sent", "header")}
_TAKES = {
    "command": "is given your {} in its command",
    "args": "is given your {} in its arguments",
    **dict.fromkeys(("", *_ADDRESSES), "is sent your {} in the address"),
}
_SCHEME = re.compile(r"\s*(?:bearer|basic|token)?\s*", re.I)
_DEFAULT = re.compile(r"(?<=:-).+(?=\})", re.S)
_HOST = re.compile(r"(?<=://)[^/?#\s'\"\\]+")
_MOST_CHARS, _TAIL_CHARS = 2_000, 500
_MOST_NAMES = 10


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the file: the entry of a `source`, or a section.

    `digest` changes with everything that needs a new agreement; `facts` are lines that say all of
    it to a person. A part without a digest says which guards were lost.
    """

    key_path: str
    digest: str
    facts: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard: the section or the entry at `key_path` holds something back.

    `digest` identifies the guard, and a higher `strength` holds back more. `shown` describes it to
    a person, and `lost` describes its removal.
    """

    key_path: str
    digest: str
    strength: int
    shown: str
    lost: str
    source: str = ""


def part_of(
    written: Any, place: Place, source: str = "", env: Mapping[str, str] | None = None
) -> Part:
    """The part for the entry of a source, or for a section.

    Values of `env`, which come from a file, too, count as written there.
    """
    if source and isinstance(written, Mapping):
        entry = cast(Mapping[Any, Any], written)
        written = {str(key): x for key, x in entry.items() if key not in _HARMLESS}
    facts = facts_of(written)
    names = variables_in(json.dumps(written, default=str)) if env else ()
    used = {x: env[x] for x in names if x in env} if env else {}
    if not used:
        return Part(place.path, digest_of_value(written), facts, source)
    fact = f"the file {ENV_FILE} gives {listed(sorted(used), _MOST_NAMES)}"
    return Part(place.path, digest_of_value([written, used]), (*facts, fact), source)


def facts_of(written: Any) -> tuple[str, ...]:
    """A line for each fact, without hidden characters or line breaks."""
    if not isinstance(written, Mapping):
        return tuple(map(line, _facts("", written)))
    # A key such as "approval.delete_*" must not look like a line about `approval`.
    items = ((str(key), x) for key, x in cast(Mapping[Any, Any], written).items())
    entry = {key if key.isidentifier() else json.dumps(key): x for key, x in items}
    keys = sorted(entry.keys() - {"command", "args"}, key=lambda x: (x not in _ADDRESSES, x))
    return tuple(map(line, chain(_started(entry), *(_facts(x, entry[x]) for x in keys))))


def approval_fact(word: str, pattern: str) -> str:
    """The fact of a word of `approval` for a pattern; an empty pattern means every tool."""
    return _OF_APPROVAL[word].format(pattern if pattern not in ("", EVERY_TOOL) else "every tool")


def _started(entry: Mapping[str, Any]) -> Iterator[str]:
    args = entry.get("args")
    texts = cast(list[Any], args) if isinstance(args, list | tuple) else [args]
    words = [str(x) for x in (entry.get("command"), *texts) if x is not None]
    if words:
        yield f"starts {' '.join(map(shlex.quote, redact_args(words, Secrets())))}"
    yield from _takes("command", entry.get("command"))
    yield from _takes("args", args)


def _facts(key: str, value: Any) -> Iterator[str]:
    """The lines for the values at and below this key."""
    if isinstance(value, Mapping) and value:
        for name, inner in cast(Mapping[Any, Any], value).items():
            yield from _facts(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(value, list | tuple) and any(isinstance(x, Mapping) for x in cast(Any, value)):
        for number, inner in enumerate(cast(list[Any], value)):
            yield from _facts(f"{key}[{number}]", inner)
    else:
        yield from _fact(key, value)


def _fact(key: str, value: Any) -> Iterator[str]:
    section, _, name = key.partition(".")
    shown, taken = _shown(key, value), _variables(value)
    is_variable = value == f"${{{taken}}}"
    if section in _NAMED and name:
        verb, noun = _NAMED[section]
        if not taken:
            yield f"{verb} the {noun} {name}: {shown}"
        else:
            yield f"{verb} your {taken} as {noun} {name}{'' if is_variable else f': {shown}'}"
        return
    if section == "approval" and isinstance(value, str) and value in _OF_APPROVAL:
        yield approval_fact(value, name)
    elif key in ("autoApprove", "alwaysAllow") and value:
        yield approval_fact("allow", "" if value is True else shown)
    elif key in _SENTENCES:
        yield _SENTENCES[key].format(shown)
    elif not is_variable:
        yield f"{key}: {shown}" if key else shown
    yield from _takes(key, value)


def _takes(key: str, value: Any) -> Iterator[str]:
    if taken := _variables(value):
        yield _TAKES[key].format(taken) if key in _TAKES else f"is given your {taken} as {key}"


def _variables(value: Any) -> str:
    """The environment variables in a value, for a sentence."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " and ".join(dict.fromkeys(variables_in(text)))


def _shown(key: str, value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return ", ".join(shlex.quote(_shown_item(key, x)) for x in cast(list[Any], value))
    return _shown_item(key, value)


def _shown_item(key: str, value: Any) -> str:
    # A list in a list is shown as JSON: quoting it again doubles its length at each level.
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if key in _ADDRESSES or not key:
        return Redactor((), guesses=True, environ={})(text)
    name = key.rpartition(".")[2]
    if value is None or isinstance(value, bool) or not is_secret(name, text):
        return redact_args([text], Secrets())[0]
    return "".join(_masked(x) for x in split_variables(text))


def _masked(piece: str) -> str:
    """A piece of a secret, masked; names of variables and schemes stay readable."""
    if piece.startswith("${"):
        return _DEFAULT.sub(MASK, piece)
    return piece if _SCHEME.fullmatch(piece) else MASK


def line(text: str) -> str:
    """A text on one line, with hidden characters escaped and hosts as DNS has them."""
    plain = _HOST.sub(lambda host: _ascii_host(host[0]), escaped(text))
    more = len(plain) - _MOST_CHARS
    if more <= 0:
        return plain
    head, tail = plain[: _MOST_CHARS - _TAIL_CHARS], plain[-_TAIL_CHARS:]
    return f"{head} ... ({more} more characters: read them) ... {tail}"


def _ascii_host(text: str) -> str:
    """A host in ASCII, as DNS looks it up."""
    user, at, address = text.rpartition("@")
    host, colon, port = address.partition(":")
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.encode("idna").decode()
    return ascii(f"{user}{at}{host}{colon}{port}")[1:-1]
