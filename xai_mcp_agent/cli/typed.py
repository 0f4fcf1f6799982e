"""Servers given on the command line as a URL or a command, and names for them."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from ..bridge.faces import Bridge
from ..core.errors import SettingsError, UnknownServer
from ..core.json import JsonObject
from ..secrets.search import secrets_in_url
from ..settings.document import KeyPlace
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
_COMMON_HOSTS = re.compile(r"^(?:www|mcp|api)\.(?=.+\.)")
_RUNNER = re.compile(
    r"npx|uvx?|bunx?|pnpm|yarn|docker|podman|pipx|dnx|node|deno|python[\d.]*|\$\{python\}"
)
_SCRIPTS = (".py", ".js", ".mjs", ".ts", ".sh")
_NOT_PACKAGES = ("run", "exec", "dlx", "tool", "x")
_DIGEST_CHARS = 16  # long enough that no other address has the same digest
_MAX_CHARS = 40  # the name becomes part of the names of tools


def server_of_word(bridge: Bridge, word: str, *, needs_server: bool = True) -> str:
    """Return the name of a server; add it to the bridge if it is a URL or a command.

    With `needs_server` the name that only the history has for such a server is refused.

    Raises:
        SettingsError: the URL or the command cannot be used.
        UnknownServer: it is a name that only the history has.
    """
    if server := typed_server(word, bridge.settings):
        is_configured = server.name in bridge.settings.servers
        return server.name if is_configured else bridge.add_source(server)
    if not _is_configured(word, bridge.settings):
        if (word.endswith(".py") or os.path.dirname(word)) and not os.path.exists(word):
            problem = f"there is no file {word!r}, nor a server of that name."
            raise SettingsError(TYPED, "", problem, "Correct it.")
        if needs_server and _OWN_NAME.fullmatch(word):
            raise UnknownServer(
                f"{word!r} is the history's name for a server that was typed, and does not say how "
                "to reach it. Type its URL, file or command again: that of "
                f"{word.rpartition('-')[0]!r}.",
                word, (),
            )  # fmt: skip
    return word


def name_of_server(word: str, settings: Path | None) -> str:
    """Return the name of a server in the history; it may be a URL or a command. Starts nothing."""
    if not is_typed(word):
        return word
    server = typed_server(word, without_untrusted(load_settings(settings)))
    return server.name if server else word


def typed_server(word: str, settings: Settings) -> ServerSettings | None:
    """Return the server that a URL or a command means; None for a name.

    If the settings have the same server, it is that one.

    Raises:
        SettingsError: the URL or the command cannot be used.
    """
    if _is_configured(word, settings) or not is_typed(word):
        return None
    entry = entry_of([word])
    variables = Variables(os.environ, os.getcwd(), settings.secrets)
    typed = ServerSettings.read(own_name_for(entry), entry, KeyPlace(TYPED), variables)
    enabled = (x for x in settings.servers.values() if not x.disabled)
    return next((x for x in enabled if _target(x) == _target(typed)), typed)


def _is_configured(word: str, settings: Settings) -> bool:
    return settings.kind_of(word) is not None or word in settings.group_names


def _target(server: ServerSettings) -> Sequence[object]:
    """Return what a server starts or reaches."""
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


def name_for(entry: JsonObject) -> str:
    """Return a readable name for a server, from its host or its command."""
    name = _host_name(str(entry["url"])) if "url" in entry else _command_name(_words(entry))
    return _NOT_IN_NAMES.sub("_", name).strip("_-")[:_MAX_CHARS].strip("_-") or "server"


def own_name_for(entry: JsonObject) -> str:
    """Return `name_for` plus a digest of the address, the name for history and decisions.

    Decisions about one server must not apply to another program or host. A file has the same name
    from every folder, and a URL the same name whatever key it holds.
    """
    if "url" in entry:
        words = _without_keys(str(entry["url"]))
    else:
        words = [os.path.realpath(x) if _is_file(x) else x for x in _words(entry)]
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name_for(entry)}-{digest[:_DIGEST_CHARS]}"


def _words(entry: JsonObject) -> list[str]:
    return [str(entry["command"]), *map(str, entry.get("args", ()))]


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


def _is_file(word: str) -> bool:
    return bool(os.path.dirname(word) or word.endswith(_SCRIPTS)) and os.path.exists(word)


def _host_name(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "server"
    name = _COMMON_HOSTS.sub("", host)
    return f"{name}_{port}" if port else name


def _command_name(words: Sequence[str]) -> str:
    """Return the name of the package, image, module or script that runs, else the program."""
    program = _stem(words[0])
    names = [x for x in words[1:] if not x.startswith("-") and x not in _NOT_PACKAGES]
    if not names or not _RUNNER.fullmatch(program.lower()):
        return program
    name = _stem(names[-1] if program in ("docker", "podman") else names[0])
    return re.split(r"[@:=<>~]", name, maxsplit=1)[0] or name  # without a version


def _stem(word: str) -> str:
    """Return the last part of a path, package or image, without the suffix of a program."""
    name = Path(word.replace("\\", "/")).name
    return name.rpartition(".")[0] if name.endswith((".exe", *_SCRIPTS)) else name
