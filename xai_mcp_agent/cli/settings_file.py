"""Changes of a settings file for a person: checked first, written atomically."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..bridge.faces import Bridge
from ..core.errors import SettingsError
from ..core.json import JsonObject
from ..core.shell import shell_command
from ..secrets.private_files import file_lock, replace_file, replace_private
from ..secrets.search import is_secret, secrets_in_args, secrets_in_headers, secrets_in_url
from ..settings.editing import sections_with, text_with_server
from ..settings.load import FILE_NAME, load_settings, settings_from
from ..settings.models import SECTIONS, Settings
from ..settings.trust import TrustStore
from .frame import connect
from .output import replace_text

if TYPE_CHECKING:
    from ..core.tools import Tool

_LOCK_SECONDS = 20.0
_REFERENCE = re.compile(r"\$\{[^}]+\}")
_SERVERS = "mcpServers"
_CANVAS = "canvas"  # the name of drawn tools
_OTHERS_READ = 0o044
_OTHERS = tuple(f"{x}." for x in SECTIONS if x != _SERVERS)


def settings_and_file(settings: Path | None) -> tuple[Settings, Path]:
    """Return the settings, and the file to write: the named one, the one in use, or a new one."""
    if settings is not None and not settings.exists():
        loaded = settings_from({_SERVERS: {}}, file=str(settings))
    else:
        loaded = load_settings(settings)
    return loaded, Path(settings or loaded.file or FILE_NAME).absolute()


def problem_of_name(name: str) -> str:
    """Return why this name cannot be used, or ""."""
    if name.strip() and name.isprintable() and "/" not in name and name != _CANVAS:
        return ""
    return (
        f"{name!r} cannot be a server's name: it must not have / or invisible characters, or be "
        f"{_CANVAS!r}."
    )


def check_free(
    name: str, loaded: Settings, file: Path, fix: str, *, replaces: bool = False
) -> None:
    """Refuse a name that a source or a group has; an MCP server may be replaced.

    Raises:
        SettingsError: the name is taken; `fix` says what to do.
    """
    is_taken = name in (*loaded.names, *loaded.group_names)
    if is_taken and replaces:
        others = {*SECTIONS} - {_SERVERS}  # the source would stay beside the server
        is_other = not others.isdisjoint(sections_with(file, name))
        is_taken = is_other or name in loaded.group_names
    if is_taken:
        problem = "there is a source or a group of this name already."
        raise SettingsError(str(file), name, problem, fix)


def read_entry(name: str, entry: JsonObject, file: Path, variables: Iterable[str] = ()) -> Settings:
    """Return the settings of a file with this entry alone, once these variables are set."""
    environ = {**os.environ, **dict.fromkeys(variables, "x")}
    document = {_SERVERS: {name: entry}}
    return settings_from(document, file=str(file), folder=file.parent, environ=environ)


def problem_of(
    name: str, entry: JsonObject, file: Path, variables: Iterable[str] = ()
) -> SettingsError | None:
    """Return the problem a run would have with an entry, once these variables are set."""
    return read_entry(name, entry, file, variables).problems.get(name)


def write_server(
    file: Path, name: str, entry: JsonObject, *, replaces: bool = False
) -> Path | None:
    """Add or replace an entry, and create the file if needed.

    Returns the path of the backup of a file in which it replaced one. Writing an entry does not
    trust it: see `trust_server`. A new file that holds a secret is private to this user.

    Raises:
        SettingsError: the file cannot be written or extended.
    """
    with writing(file):
        text = text_with_server(file, name, entry, replaces=replaces)
        if replaces:
            return replace_text(file, text)
        if not os.path.lexists(file) and plain_secrets(entry):
            replace_private(file, text.encode())
        else:
            replace_file(file.resolve(), text.encode())
    return None


def plain_secrets(entry: JsonObject) -> list[str]:
    """Return the places in the entry with what looks like a secret in plain text."""
    env, headers = entry.get("env", {}), entry.get("headers", {})
    args = [str(x) for x in entry.get("args", [])]
    url = _REFERENCE.sub("", str(entry.get("url", "")))
    where = [f"the variable {k}" for k, x in env.items() if is_secret(k, x) and _is_plain(x)]
    for key, value in headers.items():
        if any(map(_is_plain, secrets_in_headers({key: value}))):
            where.append(f"the header {key}")
    where += ["the URL"] * any(secrets_in_url(url))
    where += ["an argument"] * any(map(_is_plain, secrets_in_args(args)))
    return where


def _is_plain(secret: str) -> bool:
    return bool(secret) and not _REFERENCE.search(secret)


def notes_on_secrets(entry: JsonObject, file: Path) -> list[str]:
    """Return warnings about plain secrets in an entry of the file, and about who can read it."""
    notes = [
        f"{place} looks like a secret, and stands in the file as it is. Put it into a variable of "
        "your environment, and write '${NAME}' in its place."
        for place in plain_secrets(entry)
    ]
    if notes and os.name != "nt" and file.stat().st_mode & _OTHERS_READ:
        command = shell_command("chmod", "600", str(file))
        notes.append(f"Others on this machine can read the file. To end that: {command}")
    return notes


@contextmanager
def writing(file: Path) -> Generator[None]:
    """Hold the file's lock while it is read and written.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(file.parent, _LOCK_SECONDS):
            yield
    except OSError as cause:
        problem = f"it cannot be written: {cause.strerror or cause}."
        raise SettingsError(str(file), "", problem, "Fix that, or name another file.") from cause


def trust_server(file: Path, name: str) -> None:
    """Trust one MCP server that the user just added, and nothing else in the file.

    Raises:
        SettingsError: the trust cannot be stored.
    """
    loaded = load_settings(file)
    guards = [x for x in loaded.guards if x.source in ("", name)]
    for part in loaded.parts:
        if part.source == name and not part.key_path.startswith(_OTHERS):
            TrustStore().agree_to(str(file), part, guards)


def tools_once(name: str, entry: JsonObject, file: Path) -> list[Tool]:
    """Start the server, list its tools and stop it, without a history.

    Raises:
        XaiMcpError: it cannot be used.
    """
    with Bridge(read_entry(name, entry, file), store="off") as bridge:
        bridge.settings.source(name)
        connect(bridge, [name])
        return bridge.list_tools(name)
