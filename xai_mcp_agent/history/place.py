"""Where the history is kept: in a file of the project, in a database by URL, or in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import SettingsError
from ..settings.load import user_settings_path
from ..settings.models import Settings
from ..settings.secret_rules import masked_url, secrets_in_url
from ..settings.secrets import MASK

ENVIRONMENT_VARIABLE = "XAI_MCP_STORE"
IN_MEMORY = "memory"

KINDS = "Write postgresql://user@host/database, a file, or memory."
"""What can be named as a place."""

_MEMORIES = (IN_MEMORY, ":memory:", "sqlite://", "sqlite:///:memory:")
_SQLITE = "sqlite:///"
_FOLDER, _FILE = ".xircuits", "history.db"
_POSTGRESQL = ("postgresql", "postgres")
_DRIVER = "postgresql+psycopg"


@dataclass(frozen=True, slots=True)
class Place:
    """`url` is SQLAlchemy's, `shown` the same for people, without a password.

    `file` is the file of an SQLite database; there is none in memory and on a server. `folder`
    is that of the project. A store `is_own` when it lies in that folder, and so is the project's
    wherever the folder is moved to. From one of `any_project` the history is read that is in it,
    whosever it is. A `problem` is why nothing can be kept there.
    """

    url: str
    shown: str
    folder: Path
    file: Path | None = None
    is_own: bool = False
    any_project: bool = False
    problem: str = ""

    @property
    def is_lasting(self) -> bool:
        """Whether what is written there is there after a crash."""
        return self.shown != IN_MEMORY


def find_place(
    settings: Settings, given: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Place:
    """Where the history of these settings' project is kept.

    What is `given` decides, then `XAI_MCP_STORE`, then `store` in the settings file: `memory`, a
    file, or a URL such as `postgresql://user@host/database`. Without any it is
    `.xircuits/history.db` beside the settings file; in memory for settings that are no file's.

    Raises:
        SettingsError: what was `given` is a URL of a kind of database that is not supported.
            Elsewhere that is no reason to do nothing at all: see `Place.problem`.
    """
    environ = os.environ if environ is None else environ
    folder = _project_folder(settings)
    if isinstance(given, Path):
        return _file(str(given), folder)
    named = given or environ.get(ENVIRONMENT_VARIABLE, "").strip() or settings.store
    place = _named(named, settings, folder)
    if place.problem and given:
        raise SettingsError("the place for the history", "", place.problem, KINDS)
    return place


def _named(named: str, settings: Settings, folder: Path) -> Place:
    if named.lower() in _MEMORIES or (settings.is_from_python and not named):
        return Place("sqlite://", IN_MEMORY, folder)
    if "://" in named and not named.startswith(_SQLITE):
        settings.secrets.update(secrets_in_url(named))
        return _server(named, folder)
    return _file(named.removeprefix(_SQLITE), folder)


def _file(named: str, folder: Path) -> Place:
    file = folder / (os.path.expanduser(named) or Path(_FOLDER, _FILE))
    return Place(f"{_SQLITE}{file}", str(file), folder, file, is_own=not named)


def _server(url: str, folder: Path) -> Place:
    scheme, _, rest = url.partition("://")
    is_known = scheme.partition("+")[0].lower() in _POSTGRESQL
    problem = "" if is_known else f"{scheme!r} is no kind of database that can be used."
    return Place(f"{_DRIVER}://{rest}", _shown(url), folder, problem=problem)


def _shown(url: str) -> str:
    """Without a password, also where it has characters that should be quoted in a URL."""
    scheme, _, rest = url.partition("://")
    before = rest.rpartition("@")[0]
    return f"{scheme}://{MASK}" if any(x in before for x in "/?#") else masked_url(url)


def _project_folder(settings: Settings) -> Path:
    """That of the settings file; the current one where the file is of all projects of a user."""
    file = Path(settings.file)
    if settings.is_from_python or not settings.file or file == user_settings_path():
        return _current_folder()
    return file.parent


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path.home()
