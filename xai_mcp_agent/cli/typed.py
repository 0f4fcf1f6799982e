"""A server as somebody types it: a URL, or a command; and a name for one that has none."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from ..bridge.faces import Bridge
from ..core.errors import SettingsError, UnknownServer
from ..core.json import JsonObject
from ..secrets.redactor import secrets_in_url
from ..settings.document import Place
from ..settings.interpolation import Variables
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.server import ServerSettings
from ..settings.trust import without_untrusted

TYPED = "what you typed"
"""Stands in messages where else the name of a settings file does."""

_OWN_NAME = re.compile(r"[\w-]+-[0-9a-f]{16}")  # see `own_name_for`
_URL = re.compile(r"https?://", re.IGNORECASE)
_ANY_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_RANDOM = re.compile(r"(?=.*[0-9])[A-Za-z0-9_-]{16,}")
_COMMON_HOSTS = re.compile(r"^(?:www|mcp|api)\.(?=.+\.)")
_COMMON_PARTS = ("", "mcp", "sse", "v1")
_RUNNERS = ("npx", "uvx", "uv", "bunx", "pnpm", "yarn", "docker", "podman", "pipx", "dnx", "node",
            "deno", "bun")  # fmt: skip
_SCRIPTS = (".py", ".js", ".mjs", ".ts", ".sh")
_NOT_PACKAGES = ("run", "exec", "dlx", "tool", "x")
_MARK_CHARS = 16  # nobody finds another address of the same digest
_MOST_CHARS = 40  # of a name, which is part of those of its tools


def server_named(bridge: Bridge, word: str, *, is_needed: bool = True) -> str:
    """Return the name of a server, which may be typed: then it is added to the bridge.

    If the settings have the same server, their entry counts. Where the server itself `is_needed`,
    the name that the history has of a typed one will not do.

    Raises:
        SettingsError: the URL or the command cannot be used.
        UnknownServer: it is the name that the history has of one that was typed.
    """
    if is_beside(word, bridge.settings):
        source = _typed(word, bridge.settings)
        return _same_in(bridge.settings, source) or bridge.add_source(source)
    if not _is_known(word, bridge.settings):
        _check_path(word)
        if is_needed and _OWN_NAME.fullmatch(word):
            raise _own_name(word)
    return word


def name_of_typed(word: str, settings: Path | None) -> str:
    """Return the name under which the history has a server that may be typed. Starts nothing."""
    if not is_typed(word):
        return word
    loaded = without_untrusted(load_settings(settings))
    if _is_known(word, loaded):
        return word
    source = _typed(word, loaded)
    return _same_in(loaded, source) or source.name


def is_beside(word: str, settings: Settings) -> bool:
    """Whether a server is typed, and no name that the settings have."""
    return not _is_known(word, settings) and is_typed(word)


def _typed(word: str, settings: Settings) -> ServerSettings:
    entry = entry_of([word])
    variables = Variables(os.environ, os.getcwd(), settings.secrets)
    return ServerSettings.read(own_name_for(entry), entry, Place(TYPED), variables)


def _check_path(word: str) -> None:
    """Say of a path that leads nowhere that it does, and not that there is no such name."""
    if (word.endswith(".py") or os.path.dirname(word)) and not os.path.exists(word):
        raise SettingsError(
            TYPED, "", f"there is no file {word!r}, nor a server of that name.", "Correct it."
        )


def _own_name(word: str) -> UnknownServer:
    return UnknownServer(
        f"{word!r} is the name under which the history has a server that was typed, and says "
        f"not how to reach it. Type what it was typed as: the URL, file or command of "
        f"{word.rpartition('-')[0]!r}.",
        word, (),
    )  # fmt: skip


def _is_known(word: str, settings: Settings) -> bool:
    return settings.kind_of(word) is not None or word in settings.group_names


def _same_in(settings: Settings, typed: ServerSettings) -> str:
    """Return the server of the settings that is started or reached in the same way, if any."""
    for name, server in settings.servers.items():
        if not server.disabled and _way_to(server) == _way_to(typed):
            return name
    return ""


def _way_to(server: ServerSettings) -> Sequence[object]:
    if server.transport != "stdio":
        return (server.url.rstrip("/"),)
    return (server.command, server.args, server.cwd)


def is_url(word: str) -> bool:
    """Whether it is the address of a server."""
    return bool(_URL.match(word.strip()))


def is_typed(word: str) -> bool:
    """Whether it says where a server is, and is no name: a URL, a file of Python, or a command.

    A command is of several words, or has a folder; a word alone starts nothing by accident.
    """
    if _ANY_URL.match(word.strip()):
        return True
    if not word.strip():
        return False
    program, *others = split_command(word)
    if program.endswith(".py") and os.path.isfile(program):
        return True
    return bool(others or os.path.dirname(program)) and shutil.which(program) is not None


def split_command(text: str) -> list[str]:
    """The words of a command, as a shell would have them; one where that cannot be told."""
    if os.path.isfile(text):
        return [text]
    try:
        words = shlex.split(text, posix=os.name != "nt")
    except ValueError:  # a quotation mark without its other one
        return [text]
    return words if os.name != "nt" else [x.strip("\"'") for x in words]


def entry_of(words: Sequence[str]) -> JsonObject:
    """The entry for a URL, or for a command; a single word may hold the whole of it.

    A Python file is started with the Python that we run in.
    """
    if len(words) == 1 and _ANY_URL.match(words[0].strip()):
        return {"url": words[0].strip()}
    command, *args = words if len(words) > 1 else split_command(words[0])
    if command.endswith(".py") and os.path.isfile(command):
        command, args = "${python}", [command, *args]
    return {"command": command, **({"args": args} if args else {})}


def name_for(entry: Mapping[str, object]) -> str:
    """A readable name for a server that has none: by its host, or by what it starts."""
    url = entry.get("url")
    words = [str(x) for x in (entry.get("command"), *_list(entry.get("args")))]
    name = _host_name(str(url)) if url else _command_name(words)
    return _NOT_IN_NAMES.sub("_", name).strip("_-")[:_MOST_CHARS].strip("_-") or "server"


def own_name_for(entry: Mapping[str, object]) -> str:
    """`name_for` and a digest of the address: the name under which history and decisions are kept.

    Another program, or another host's server, must not meet those of the first. A file is the same
    from every folder, and a URL the same whatever the key in it.
    """
    url = entry.get("url")
    words = _without_keys(str(url)) if url else _located(entry)
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name_for(entry)}-{digest[:_MARK_CHARS]}"


def _without_keys(url: str) -> list[str]:
    """The parts of a URL without user, password and the keys of its query.

    Host and path stay whole: a random part of the path may tell which server it is.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    secret = {*secrets_in_url(url)}
    query = [f"{k}={'' if v in secret else v}" for k, v in parse_qsl(parts.query, True)]
    return [parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower(), parts.path, *query]


def _located(entry: Mapping[str, object]) -> list[str]:
    """The words of a command, those that name a file by a path or as a script with all of it."""
    words = [str(x) for x in (entry.get("command"), *_list(entry.get("args")))]
    return [os.path.realpath(x) if _is_file(x) else x for x in words]


def _is_file(word: str) -> bool:
    return bool(os.path.dirname(word) or word.endswith(_SCRIPTS)) and os.path.exists(word)


def _host_name(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "server"
    path = [x for x in parts.path.split("/") if x not in _COMMON_PARTS and not _RANDOM.fullmatch(x)]
    name = _COMMON_HOSTS.sub("", host)
    return "_".join([name, *([str(port)] if port else []), *path])


def _command_name(words: Sequence[str]) -> str:
    """What is started: the package, image, module or script, else the program."""
    program = _stem(words[0])
    is_runner = program.lower() in _RUNNERS
    if not is_runner and not re.fullmatch(r"\$\{python\}|python[\d.]*", program.lower()):
        return program
    rest = list(words[1:])
    if "-m" in rest[:-1]:
        return rest[rest.index("-m") + 1]
    for word in reversed(rest) if program in ("docker", "podman") else rest:
        if not word.startswith("-") and word not in _NOT_PACKAGES:
            return _stem(_package(word) if is_runner else word)
    return program


def _package(word: str) -> str:
    """A package or an image without whose it is, and without its version."""
    last = word.rpartition("/")[2]
    return re.split(r"[@:=<>~]", last, maxsplit=1)[0] or last


def _stem(word: str) -> str:
    name = Path(word.replace("\\", "/")).name
    return name.rpartition(".")[0] if name.endswith((".py", ".js", ".mjs", ".ts", ".exe")) else name


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
