"""Servers given on the command line as a URL or a command, and names for them."""

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
from ..secrets.search import secrets_in_url
from ..settings.document import Place
from ..settings.interpolation import Variables
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.server import ServerSettings
from ..settings.trust import without_untrusted

TYPED = "what you typed"
"""Stands in messages for the name of a settings file."""

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
_MARK_CHARS = 16  # long enough that no other address has the same digest
_MOST_CHARS = 40  # the name becomes part of the names of tools


def server_named(bridge: Bridge, word: str, *, is_needed: bool = True) -> str:
    """Return the name of a server; add it to the bridge if it is a URL or a command.

    If the settings have the same server, their entry counts. If the server itself `is_needed`, the
    name of such a server in the history is refused.

    Raises:
        SettingsError: the URL or the command cannot be used.
        UnknownServer: it is a name that only the history has.
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
    """Return the name of a server in the history; it may be a URL or a command. Starts nothing."""
    if not is_typed(word):
        return word
    loaded = without_untrusted(load_settings(settings))
    if _is_known(word, loaded):
        return word
    source = _typed(word, loaded)
    return _same_in(loaded, source) or source.name


def is_beside(word: str, settings: Settings) -> bool:
    """Return whether a word is a URL or a command, and not a name in the settings."""
    return not _is_known(word, settings) and is_typed(word)


def _typed(word: str, settings: Settings) -> ServerSettings:
    entry = entry_of([word])
    variables = Variables(os.environ, os.getcwd(), settings.secrets)
    return ServerSettings.read(own_name_for(entry), entry, Place(TYPED), variables)


def _check_path(word: str) -> None:
    """Report a path that does not exist, rather than an unknown name."""
    if (word.endswith(".py") or os.path.dirname(word)) and not os.path.exists(word):
        raise SettingsError(
            TYPED, "", f"there is no file {word!r}, nor a server of that name.", "Correct it."
        )


def _own_name(word: str) -> UnknownServer:
    return UnknownServer(
        f"{word!r} is the history's name for a server that was typed, and does not say how "
        f"to reach it. Type its URL, file or command again: that of "
        f"{word.rpartition('-')[0]!r}.",
        word, (),
    )  # fmt: skip


def _is_known(word: str, settings: Settings) -> bool:
    return settings.kind_of(word) is not None or word in settings.group_names


def _same_in(settings: Settings, typed: ServerSettings) -> str:
    """Return the server of the settings with the same command or URL, if any."""
    for name, server in settings.servers.items():
        if not server.disabled and _way_to(server) == _way_to(typed):
            return name
    return ""


def _way_to(server: ServerSettings) -> Sequence[object]:
    if server.transport != "stdio":
        return (server.url.rstrip("/"),)
    return (server.command, server.args, server.cwd)


def is_url(word: str) -> bool:
    """Return whether it is an HTTP address."""
    return bool(_URL.match(word.strip()))


def is_typed(word: str) -> bool:
    """Return whether it is a URL, a Python file, or a command rather than a name.

    A command has several words or a folder: a single word never starts a program by accident.
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
    """Return the words of a command as a shell splits them; one word if it cannot be split."""
    if os.path.isfile(text):
        return [text]
    try:
        words = shlex.split(text, posix=os.name != "nt")
    except ValueError:  # an unbalanced quotation mark
        return [text]
    return words if os.name != "nt" else [x.strip("\"'") for x in words]


def entry_of(words: Sequence[str]) -> JsonObject:
    """Return the entry for a URL or a command; one word may hold the whole command.

    A Python file runs with the current Python.
    """
    if len(words) == 1 and _ANY_URL.match(words[0].strip()):
        return {"url": words[0].strip()}
    command, *args = words if len(words) > 1 else split_command(words[0])
    if command.endswith(".py") and os.path.isfile(command):
        command, args = "${python}", [command, *args]
    return {"command": command, **({"args": args} if args else {})}


def name_for(entry: Mapping[str, object]) -> str:
    """Return a readable name for a server, from its host or its command."""
    url = entry.get("url")
    words = [str(x) for x in (entry.get("command"), *_list(entry.get("args")))]
    name = _host_name(str(url)) if url else _command_name(words)
    return _NOT_IN_NAMES.sub("_", name).strip("_-")[:_MOST_CHARS].strip("_-") or "server"


def own_name_for(entry: Mapping[str, object]) -> str:
    """Return `name_for` plus a digest of the address, the name for history and decisions.

    Decisions about one server must not apply to another program or host. A file has the same name
    from every folder, and a URL the same name whatever key it holds.
    """
    url = entry.get("url")
    words = _without_keys(str(url)) if url else _location(entry)
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name_for(entry)}-{digest[:_MARK_CHARS]}"


def _without_keys(url: str) -> list[str]:
    """Return the parts of a URL without user, password and keys in the query.

    Host and path stay whole: a random part of the path may identify the server.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    secret = {*secrets_in_url(url)}
    query = [f"{k}={'' if v in secret else v}" for k, v in parse_qsl(parts.query, True)]
    return [parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower(), parts.path, *query]


def _location(entry: Mapping[str, object]) -> list[str]:
    """Return the words of a command, with absolute paths for its files."""
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
    """Return the name of the package, image, module or script that runs, else the program."""
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
    """Return a package or image without its owner and version."""
    last = word.rpartition("/")[2]
    return re.split(r"[@:=<>~]", last, maxsplit=1)[0] or last


def _stem(word: str) -> str:
    name = Path(word.replace("\\", "/")).name
    return name.rpartition(".")[0] if name.endswith((".py", ".js", ".mjs", ".ts", ".exe")) else name


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
