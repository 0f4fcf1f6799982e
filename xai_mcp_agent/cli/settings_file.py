"""Writing servers into a settings file for a person: checked first, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import SettingsError
from ..core.tools import JsonObject
from ..secrets.private_files import file_lock, replace_file
from ..settings.editing import text_with_server
from ..settings.load import FILE_NAME, load_settings, settings_from
from ..settings.models import Settings
from ..settings.trust import TrustStore
from .output import replace_text

if TYPE_CHECKING:
    from ..core.tools import Tool

_LOCK_SECONDS = 20.0


def loaded_or_new(settings: Path | None) -> Settings:
    """The settings; empty ones where the file that is named does not exist yet."""
    if settings is not None and not settings.exists():
        return settings_from({"mcpServers": {}}, file=str(settings))
    return load_settings(settings)


def file_to_write(loaded: Settings, settings: Path | None) -> Path:
    """The file that is named, or was found, or a new one in the working folder."""
    return Path(settings or loaded.file or FILE_NAME).absolute()


def check_free(name: str, loaded: Settings, file: Path, fix: str) -> None:
    """Refuse a name that a source or a group has.

    Raises:
        SettingsError: it is taken; says what to do, as in `fix`.
    """
    if name in (*loaded.names, *loaded.group_names):
        raise SettingsError(str(file), name, "there is a source of this name already.", fix)


def problem_of(
    name: str, entry: JsonObject, file: Path, given: Iterable[str] = ()
) -> SettingsError | None:
    """What a run would find wrong with an entry, once the variables in `given` are set."""
    environ = {**os.environ, **dict.fromkeys(given, "x")}
    document = {"mcpServers": {name: entry}}
    read = settings_from(document, file=str(file), folder=file.parent, environ=environ)
    return read.problems.get(name)


def write_server(
    file: Path, name: str, entry: JsonObject, *, replaces: bool = False, backs_up: bool = True
) -> Path | None:
    """Put an entry into the file, which is made if there is none; where the old one is kept, if so.

    It is not trusted by being written: see `trust_server`.

    Raises:
        SettingsError: it cannot be written, or nothing can be added to it.
    """
    with writing(file):
        text = text_with_server(file, name, entry, replaces=replaces)
        if backs_up:
            return replace_text(file, text)
        replace_file(file.resolve() if file.is_symlink() else file, text.encode())
    return None


@contextmanager
def writing(file: Path) -> Generator[None]:
    """Alone with the file, from reading to writing: another one may be changing it, too.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(file.parent, _LOCK_SECONDS):
            yield
    except OSError as cause:
        problem = f"it cannot be written: {cause.strerror or cause}."
        raise SettingsError(str(file), "", problem, "Mend that, or name another file.") from cause


def trust_server(file: Path, name: str) -> None:
    """Agree to one server, which somebody has just put there, and to nothing else in the file.

    Raises:
        SettingsError: that cannot be written down.
    """
    for part in load_settings(file).parts:
        if part.source == name:
            TrustStore().agree_to(str(file), part)


def tools_once(name: str, entry: JsonObject, file: Path) -> list[Tool]:
    """Start the server, list its tools, end it; the history is not told.

    Raises:
        XaiMcpError: it cannot be used; says why.
    """
    from ..bridge.bridge import Bridge

    document = {"mcpServers": {name: entry}}
    loaded = settings_from(document, file=str(file), folder=file.parent)
    with Bridge(loaded=loaded, store="off") as bridge:
        bridge.settings.source(name)
        bridge.connect(name, wait=True)
        return bridge.list_tools(name)
