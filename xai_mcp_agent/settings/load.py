"""Finding the settings file and reading it, so that one wrong entry disables one server only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..core.errors import SettingsError
from .document import ParsedObject, Place, kind_of, read_document
from .entry import ignored_parts, read_entry
from .interpolation import Variables
from .models import ServerSettings, Settings
from .recording import recorded_by
from .secret_rules import secrets_in_text
from .secrets import Secrets
from .written import notes_on

FILE_NAME = "mcp_settings.json"
ENVIRONMENT_VARIABLE = "XAI_MCP_SETTINGS"

_SERVERS_KEY = "mcpServers"
_VSCODE_KEY = "servers"
_STORE_KEY = "store"
_RECORD_KEY = "record"
# Beside VS Code's servers, and beside a bare map in the same spirit; not servers.
_NOT_SERVERS = ("inputs", "$schema")
_MISSPELLED = ("mcpservers", "mcpserver")


def user_settings_path() -> Path:
    """Where the settings of this user are looked for last; the file need not exist."""
    # Here, because it is only needed when no project has settings.
    from platformdirs import user_config_path

    return user_config_path("xai-mcp-agent", appauthor=False) / FILE_NAME


def user_token_folder() -> Path:
    """Where tokens of this user are kept, beside those settings; it need not exist."""
    return user_settings_path().parent / "tokens"


def find_settings(
    start: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """The settings file that counts for the folder `start` (default: the current one), or None.

    `XAI_MCP_SETTINGS` decides when it is set, even if there is no such file. Then the folder
    and its parents, up to the home folder or the root, then the user's configuration folder.
    A parent everybody can write to, such as `/tmp`, is passed over: its file may be a stranger's,
    and settings name programs to start.
    """
    named = _named_by_environment(os.environ if environ is None else environ)
    if named is not None:
        return named
    return next((x for x in _candidates(start) if os.path.isfile(x)), None)


def load_settings(
    path: str | Path | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings from `path`, or from where `find_settings` finds them.

    An entry that is wrong is in `problems`, the others work. Without any file the settings are
    empty and `searched` tells where it was looked for.

    Raises:
        SettingsError: the file named by `path` or `XAI_MCP_SETTINGS` does not exist, or the
            file that was found cannot be read as settings at all.
    """
    environ = os.environ if environ is None else environ
    given = _absolute(path) if path else _named_by_environment(environ)
    if given is not None:
        file, searched = given, (str(given),)
    else:
        candidates = list(_candidates(start))
        searched = tuple(str(x) for x in candidates)
        file = next((x for x in candidates if os.path.isfile(x)), None)
    if file is None:
        record, notes = recorded_by(None, Place(""), environ)
        return Settings(file="", searched=searched, notes=tuple(notes), record=record)
    document = _document(file, by_environment=given is not None and not path)
    variables = Variables(environ, str(file.parent), Secrets())
    return _settings(document, Place(str(file)), variables, searched)


def settings_from(
    value: Mapping[str, Any],
    *,
    file: str = "settings given in Python",
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read settings from a value of the shape of the file. `file` names them in messages.

    `folder` (default: the current one) is what relative folders start from. Texts may also be
    `Secret`s and paths.

    Raises:
        SettingsError: the value as a whole does not have the shape of settings.
    """
    base = _absolute(folder) if folder is not None else _current_folder()
    variables = Variables(os.environ if environ is None else environ, str(base), Secrets())
    return replace(_settings(value, Place(file), variables, searched=()), is_from_python=True)


def _document(file: Path, *, by_environment: bool) -> ParsedObject:
    try:
        return read_document(file)
    except SettingsError as cause:
        if not by_environment:
            raise
        # Nobody looks for the mistake there unless told.
        fix = f"{cause.fix} {ENVIRONMENT_VARIABLE} names this file."
        raise SettingsError(cause.file, cause.key_path, cause.problem, fix) from cause


def _settings(
    document: Any, place: Place, variables: Variables, searched: tuple[str, ...]
) -> Settings:
    entries, below = _entries(document, place)
    servers: dict[str, ServerSettings] = {}
    problems: dict[str, SettingsError] = {}
    notes = _document_notes(document, place)
    for key, entry in entries.items():
        there = below.at(str(key))
        notes += notes_on(entry, there)
        try:
            servers[str(key)] = server = _read(key, entry, entries, there, variables)
        except SettingsError as raised:
            # A new one: what was raised holds the frames it came through, and so the run itself.
            problems[str(key)] = SettingsError(
                raised.file, raised.key_path, raised.problem, raised.fix
            )
        else:
            notes += ignored_parts(server, there)
    # In a bare map these would be servers.
    beside: Mapping[str, Any] = document if below != place else {}
    store = _store(beside, place.at(_STORE_KEY), variables, notes)
    written = beside.get(_RECORD_KEY)
    record, more = recorded_by(written, place.at(_RECORD_KEY), variables.environ)
    notes += more
    return Settings(
        place.file, servers, problems, variables.secrets, searched, tuple(notes), store, record
    )


def _store(
    document: Mapping[str, Any], place: Place, variables: Variables, notes: list[str]
) -> str:
    """Where the history is to be kept; what is wrong with it is no reason to do nothing at all."""
    value = document.get(_STORE_KEY, "")
    try:
        if not isinstance(value, str):
            raise place.error(f"must be a text, but is {kind_of(value)}.", "Write a file or a URL.")
        store = variables.expand(value, place)
    except SettingsError as reason:
        notes.append(f"{reason} Until then the history is kept beside the settings.")
        return ""
    variables.secrets.update(secrets_in_text(store))
    return store


def _read(
    key: Any, entry: Any, entries: Mapping[Any, Any], there: Place, variables: Variables
) -> ServerSettings:
    if not isinstance(key, str):
        raise there.error("the name of a server must be a text.", "Put it in quotes.")
    if key in _repeated(entries):
        problem = "this name is written more than once."
        raise there.error(problem, "Rename or remove all but one.")
    return read_entry(key, entry, there, variables)


def _entries(document: Any, place: Place) -> tuple[Mapping[Any, Any], Place]:
    """The map of names to entries, in any of the three layouts, and its place."""
    top = _object(document, place)
    for key in (_SERVERS_KEY, _VSCODE_KEY):
        if key in _repeated(top):
            raise place.at(key).error("this key is written more than once.", "Join them.")
        if key in top:
            there = place.at(key)
            return _object(top[key], there), there
    _refuse_misspelled(top, place)
    bare = ParsedObject({name: x for name, x in top.items() if name not in _NOT_SERVERS})
    bare.repeated = _repeated(top)
    return bare, place


def _object(value: Any, place: Place) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return cast(Mapping[Any, Any], value)
    problem = f"must be an object of servers, but is {kind_of(value)}."
    raise place.error(problem, 'Write {"name": {"command": ...}}.')


def _refuse_misspelled(top: Mapping[Any, Any], place: Place) -> None:
    """Without this, `mcp_servers` would be taken for the name of a server."""
    for key in top:
        if isinstance(key, str) and key.lower().replace("_", "").replace("-", "") in _MISSPELLED:
            raise place.at(key).error("this key is not known.", f"Rename it to {_SERVERS_KEY!r}.")


def _document_notes(document: Mapping[Any, Any], place: Place) -> list[str]:
    if _SERVERS_KEY in document and _VSCODE_KEY in document:
        text = f"ignored, because `{_SERVERS_KEY}` is there too."
        return [place.at(_VSCODE_KEY).note(text)]
    return []


def _repeated(value: Any) -> tuple[str, ...]:
    return value.repeated if isinstance(value, ParsedObject) else ()


def _candidates(start: Path | None) -> Iterator[Path]:
    folder = _absolute(start) if start is not None else _current_folder()
    home = Path(os.path.expanduser("~"))
    for place in (folder, *folder.parents):
        if place == folder or not _is_shared(place):
            yield place / FILE_NAME
        if place == home:
            break
    yield user_settings_path()


def _is_shared(folder: Path) -> bool:
    """Whether everybody can put files there that only they can remove, as in `/tmp`."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        # Then no file in it can be read either.
        return False
    return bool(mode & stat.S_IWOTH and mode & stat.S_ISVTX)


def _named_by_environment(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(ENVIRONMENT_VARIABLE, "").strip()
    return _absolute(named) if named else None


def _absolute(path: str | Path) -> Path:
    # Not resolved: a link to a settings file is meant for the folder it is in.
    return Path(os.path.abspath(os.path.expanduser(path)))


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as cause:
        fix = "Change to a folder that exists."
        raise SettingsError("the current folder", "", "it no longer exists.", fix) from cause
