"""Search for secrets in texts, JSON, URLs, headers and arguments: by name, pattern and context."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit

from ..core.json import as_object, children

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_PARTS = (
    "token", "secret", "password", "passwd", "passphrase", "credential", "cookie",
    "authorization", "apikey", "connectionstring",
)  # fmt: skip
_SECRET_ENDINGS = ("key", "keys", "auth", "pass", "pwd")
_SECRET_WORDS = frozenset(("session", "dsn", "pat", "jwt", "bearer", "sig", "signature"))
# A name that ends in one of these says where or how, not the secret: KEY_FILE, TOKEN_TYPE. Programs
# to run (GIT_ASKPASS, TOKEN_COMMAND) must be readable before somebody agrees to them.
_HARMLESS_LAST_WORDS = frozenset((
    "algorithm", "askpass", "command", "count", "dir", "directory", "enabled", "endpoint", "file",
    "folder", "format", "host", "issuer", "length", "limit", "method", "mode", "model", "name",
    "path", "port", "provider", "region", "scheme", "scope", "scopes", "seconds", "size", "sock",
    "socket", "timeout", "ttl", "type", "uri", "url", "version",
))  # fmt: skip
_COUNTING_WORDS = frozenset(("budget", "max", "min", "num", "tokens", "total"))
# MAX_TOKENS=100000 is a count; no setting counts further.
_MAX_COUNT_DIGITS = 9
# `NAME=`, `--flag=`, `Header:`, `"key":`, anywhere in a text; the value follows.
_NAME_AND_MARK = re.compile(
    r"(?:^|(?<=[\s;,&?'\"{=]))-{0,2}([A-Za-z][\w.-]{0,80})['\"]?\s?[=:](?!//)\s*"
)
_END_OF_VALUE = re.compile(r"[;,&\s'\"}]")
# A shell ends a value here: a command may follow, which must be visible to whoever agrees to it.
_END_IN_SHELL = re.compile(r"[\s'\"`;&|<>()]|\$\(")
# In "Authorization: Bearer abc" the secret is the second word.
_AFTER_SCHEME = re.compile(r"((?i:bearer|basic|token)) [^;,&\s'\"}]+")
# A URL ends where a shell would end it: a command may follow. A password may contain any sign; an
# `&` continues only with a parameter. The scheme is bounded, or a long text without a URL would
# take quadratic time.
URL = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?:[^\s\"'<>/?#@]{0,300}@)?"
    r"(?:(?!\$\()[^\s\"'<>`;&|()]|&(?=[\w.%\[\]-]{1,80}=))+"
)
_KNOWN_TOKEN = re.compile(
    r"\b(?:sk-|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|AKIA|AIza|hf_|npm_|pypi-|ntn_|eyJ)"
    r"[A-Za-z0-9_.-]{12,}"
)
# Zapier and others put the key of a hosted server in the path; a random one contains digits.
RANDOM_SEGMENT = re.compile(r"(?=(?:[^0-9]*[0-9]){3})(?=.*[A-Za-z])[A-Za-z0-9_-]{24,}")
# A user name this long is more often a token than a person.
_LONG_USER_NAME = 16
# Depth of JSON inside text, as people put it in variables.
_MAX_JSON_DEPTH = 4


def looks_secret(name: str) -> bool:
    """Return whether a value with this name (of a variable, header, flag, parameter) is a secret.

    Its words decide, in any spelling: `GITHUB_TOKEN`, `X-Api-Key`, `--clientSecret`. Names that say
    where or how (`KEY_FILE`, `AUTH_URL`, `TOKEN_TYPE`) are not secret.
    """
    words = _words(name)
    if not words or words[-1] in _HARMLESS_LAST_WORDS:
        return False
    joined = "".join(words)
    return (
        any(part in joined for part in _SECRET_PARTS)
        or any(word.endswith(_SECRET_ENDINGS) for word in words)
        or not _SECRET_WORDS.isdisjoint(words)
    )


def is_secret(name: str, value: str) -> bool:
    """Return whether a value with this name is a secret.

    Like `looks_secret`, but not for a number with a counting name (`MAX_TOKENS=4096`), nor for the
    absolute path of an existing file or folder.
    """
    if not value or not looks_secret(name):
        return False
    if value.isdecimal() and len(value) <= _MAX_COUNT_DIGITS:
        return _COUNTING_WORDS.isdisjoint(_words(name))
    # `exists` answers False, and does not raise, for a text that cannot be a path.
    return not (os.path.isabs(value) and os.path.exists(value))


def secrets_in_env(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the secret texts in a server's environment variables."""
    for name, value in env.items():
        if is_secret(name, value):
            yield from _with_credentials(value)
        yield from secrets_in_text(value)


def secrets_in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the secret texts in HTTP headers: whole values, and the credentials within them."""
    for name, value in headers.items():
        if looks_secret(name):
            yield from _with_credentials(value)
        if "cookie" in name.lower():
            yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
        yield from secrets_in_text(value)


def secrets_in_args(args: Sequence[str]) -> Iterator[str]:
    """Yield the secret texts among command line arguments.

    These are values of flags such as `--api-key`, and the results of `secrets_in_text`.
    """
    for arg, follows_flag in with_flags(args):
        if follows_flag:
            yield from _with_credentials(arg)
        yield from secrets_in_text(arg)


def secrets_in_text(text: str) -> Iterator[str]:
    """Yield the secret texts in a value.

    These are well-known tokens, and secrets in a URL, after a secret-looking name (`name=value`,
    `Header: value`) or in JSON.
    """
    yield from tokens_in_text(text)
    # Most texts have none of these signs, and a search for them takes no time.
    for url in URL.findall(text) if "://" in text else ():
        yield from secrets_in_url(url)
    if "=" in text or ":" in text:
        yield from _secrets_after_names(text)
    if text.lstrip().startswith(("{", "[")):
        yield from secrets_in_json(text)


def tokens_in_text(text: str) -> list[str]:
    """Return the keys and tokens of well-known services, such as `sk-...`."""
    return _KNOWN_TOKEN.findall(text)


def secrets_in_url(url: str) -> Iterator[str]:
    """Yield the secret texts in a URL: its password, secret parameters, random path parts.

    The user name counts too if it stands alone or is long, because a token is often put there.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    secrets = [password, *_secret_parameters(parts.query)]
    if not colon or len(user) >= _LONG_USER_NAME:
        secrets.append(user)
    yield from secrets
    yield from map(unquote, secrets)
    yield from (x for x in parts.path.split("/") if RANDOM_SEGMENT.fullmatch(x))


def with_flags(args: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each argument, and whether it is the secret value of the flag before it."""
    flag = ""
    for arg in args:
        yield arg, bool(flag) and not arg.startswith("--") and is_secret(flag, arg)
        flag = arg if arg.startswith("-") and "=" not in arg else ""


def _words(name: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(name)]
    # TOKENIZERS_PARALLELISM and the like are about text, not about access.
    return [word for word in words if not word.startswith("tokeniz")]


def _with_credentials(value: str) -> Iterator[str]:
    """Yield the value, the credentials after `Bearer` or another scheme, and those in `Basic`."""
    yield value
    scheme, _, credentials = value.strip().partition(" ")
    yield value.strip()
    if not credentials or not scheme.isalpha():
        return
    yield credentials.strip()
    if scheme.lower() == "basic":
        yield from _basic_credentials(credentials.strip())


def _basic_credentials(credentials: str) -> Iterator[str]:
    try:
        plain = base64.b64decode(credentials, validate=True).decode()
    except ValueError:  # not valid for Basic; the text itself is masked all the same
        return
    yield plain
    yield plain.partition(":")[2]


def _secrets_after_names(text: str) -> Iterator[str]:
    """Yield the value up to the next separator, and up to where a shell would end it."""
    for begins, ends in named_secrets(text):
        value = text[begins:ends]
        yield from _with_credentials(value)
        yield _END_OF_VALUE.split(value, maxsplit=1)[0]


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of values with secret-looking names.

    A command may follow, which must stay readable before somebody agrees to it.
    """
    position = 0
    while match := _NAME_AND_MARK.search(text, position):
        position = match.end() + text.startswith(("'", '"'), match.end())
        # After a bare `=` a shell would take the second word for a command.
        has_scheme = ":" in match[0] or position > match.end()
        scheme = _AFTER_SCHEME.match(text, position) if has_scheme else None
        end = _END_IN_SHELL.search(text, scheme.end(1) + 1 if scheme else position)
        ends = end.start() if end else len(text)
        if is_secret(match[1], text[position:ends]):
            yield position, ends
            # Names within the value are part of it.
            position = ends


def _secret_parameters(query: str) -> Iterator[str]:
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if is_secret(unquote(name), unquote(value)):
            yield value
            yield unquote_plus(value)


def secrets_in_json(text: str) -> Iterator[str]:
    """Yield the secret texts in a JSON text, by the names of their fields; none in other texts."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # It only looked like JSON.
        return
    yield from _secrets_in_value(value, _MAX_JSON_DEPTH)


def _secrets_in_value(value: Any, depth: int) -> Iterator[str]:
    texts = {name: x for name, x in as_object(value).items() if isinstance(x, str)}
    yield from secrets_in_headers({name: x for name, x in texts.items() if is_secret(name, x)})
    for inner in children(value) if depth else ():
        yield from _secrets_in_value(inner, depth - 1)
