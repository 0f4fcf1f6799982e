"""Where a history is stored (file, database URL or memory), and its project."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import SettingsError
from ..secrets.redactor import redact_url
from ..secrets.search import secrets_in_url
from ..secrets.secrets import MASK
from ..settings.load import user_settings_path
from ..settings.models import Settings
from .event import Project

ENVIRONMENT_VARIABLE = "XAI_MCP_STORE"
PROJECT_VARIABLE = "XAI_MCP_PROJECT"
IN_MEMORY = "memory"
OFF = "off"
"""Name of the place where nothing is remembered."""


KINDS = "Write postgresql://user@host/database, a file, memory, or off."
"""Names of special places."""

SWITCHED_OFF = (
    "it is switched off, so nothing is remembered.",
    "Name a place in XAI_MCP_STORE or under `store` in the settings file.",
)
"""Reply to questions about a history that is `OFF`, with the next step."""

_MEMORIES = (IN_MEMORY, ":memory:", "sqlite://", "sqlite:///:memory:")
_SQLITE = "sqlite:///"
HISTORY = Path(".xircuits", "history.db")
"""Default path in the folder of a project."""
_POSTGRESQL = ("postgresql", "postgres")
_DRIVER = "postgresql+psycopg"

_HASH_CHARS = 12
_NO_NAME = "project"
# Git reads a stranger's repository as well: nothing in it is run.
_ASK_GIT = ("-c", "safe.directory=*", "config", "--get-all", "remote.origin.url")
_GIT_SECONDS = 5.0  # it takes some milliseconds
# https://user:password@host:8443/group/name, and git@host:group/name.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/]*)/*(?P<path>.*)")
_SCP = re.compile(r"(?P<authority>[^/:]{2,}):(?P<path>.*)")  # C:\ is a Windows drive


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Where the history is, without a password. `error` is empty while it can be used."""

    place: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """`url` is SQLAlchemy's, `label` the same for people, without a password.

    `file` is the SQLite database's file; memory and servers have none. `folder` is the project's. A
    store `is_own` if it lies in that folder, and stays the project's wherever the folder is moved.
    With `any_project` the history in the file is read, whichever project's it is. A file that
    `is_still` is read as it is, and no file is created beside it. A `problem` is why nothing can be
    stored there. `project` is the name that somebody gave it.
    """

    url: str
    label: str
    folder: Path
    file: Path | None = None
    is_own: bool = False
    any_project: bool = False
    is_still: bool = False
    problem: str = ""
    project: str = ""

    @property
    def is_lasting(self) -> bool:
        """Return whether its content survives a crash."""
        return self.label not in (IN_MEMORY, OFF)

    @property
    def is_only_to_read(self) -> bool:
        """Return whether it is a file, or in a folder, that we cannot write."""
        file = self.file
        if file is None or not os.path.exists(file):
            return False
        return not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))

    @property
    def is_off(self) -> bool:
        """Return whether nothing is to be stored at all."""
        return self.label == OFF


def find_place(
    settings: Settings, override: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Place:
    """Return where the history of these settings' project is.

    `override` decides, then `XAI_MCP_STORE`, then `store` in the settings file: `memory`, `off`, a
    file, or a URL such as `postgresql://user@host/database`. The default is `.xircuits/history.db`
    beside the settings file; memory for settings without a file. `XAI_MCP_PROJECT` or `project` in
    the settings file names the project.

    Raises:
        SettingsError: `override` is a URL of an unsupported kind of database. Elsewhere such a URL
            does not stop a run: see `Place.problem`.
    """
    environ = os.environ if environ is None else environ
    folder = _project_folder(settings)
    project = environ.get(PROJECT_VARIABLE, "").strip() or settings.project
    if isinstance(override, Path):
        place = _file(str(override), folder)
    else:
        named = override or environ.get(ENVIRONMENT_VARIABLE, "").strip() or settings.store
        place = _named(named, settings, folder)
    if place.problem and override:
        raise SettingsError("the place for the history", "", place.problem, KINDS)
    return replace(place, project=project)


def identity_of(file: Path | None) -> tuple[int, int] | None:
    """Return what identifies a file beyond its name, or None if there is none."""
    with suppress(OSError):
        if file is not None:
            status = os.stat(file)
            return status.st_dev, status.st_ino
    return None


def _named(named: str, settings: Settings, folder: Path) -> Place:
    if named.lower() == OFF:
        return Place("", OFF, folder)
    if named.lower() in _MEMORIES or (settings.is_from_python and not named):
        return Place("sqlite://", IN_MEMORY, folder)
    if "://" in named and not named.startswith(_SQLITE):
        settings.secrets.update(secrets_in_url(named))
        return _server(named, folder)
    return _file(named.removeprefix(_SQLITE), folder)


def _file(named: str, folder: Path) -> Place:
    file = folder / (os.path.expanduser(named) or HISTORY)
    return Place(f"{_SQLITE}{file}", str(file), folder, file, is_own=not named)


def _server(url: str, folder: Path) -> Place:
    scheme, _, rest = url.partition("://")
    is_known = scheme.partition("+")[0].lower() in _POSTGRESQL
    problem = "" if is_known else f"{scheme!r} is not a kind of database that can be used."
    return Place(f"{_DRIVER}://{rest}", _label(url), folder, problem=problem)


def _label(url: str) -> str:
    """Return a URL without its password, even if that is not quoted properly."""
    scheme, _, rest = url.partition("://")
    before = rest.rpartition("@")[0]
    return f"{scheme}://{MASK}" if any(x in before for x in "/?#") else redact_url(url)


def _project_folder(settings: Settings) -> Path:
    """Return the settings file's folder; the current one for a file of all projects of a user."""
    file = Path(settings.file)
    if settings.is_from_python or not settings.file or file == user_settings_path():
        return _current_folder()
    return file.parent


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path.home()


def project_of(folder: Path, named: str = "") -> Project:
    """Return the project of this name; else by the folder's repository origin, or its path."""
    place = named or _origin(folder) or str(folder)
    name = named or re.split(r"[/\\]", place.rstrip("/\\"))[-1] or _NO_NAME
    return Project(
        name, hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    )


def _origin(folder: Path) -> str:
    """Return where the repository was cloned from; "" if it was not, or git is missing.

    It is the first address, if there are several: the one that git fetches from.
    """
    # False, without an error, for a folder that may not be read. Git itself takes longer to say so.
    if not any(os.path.exists(x / ".git") for x in (folder, *folder.parents)):
        return ""
    # Git tells a hook or script about another repository in these variables.
    environ = {name: x for name, x in os.environ.items() if not name.startswith("GIT_")}
    try:
        output = subprocess.run(
            ("git", "-C", str(folder), *_ASK_GIT), env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=_GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    lines = output.stdout.decode("utf-8", "surrogateescape").splitlines()
    return _without_access(lines[0].strip()) if lines else ""


def _without_access(url: str) -> str:
    """Return host and path, the same for each way to reach them, without credentials."""
    url = re.split(r"[?#]", url, maxsplit=1)[0]
    parts = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if parts is not None:
        host = parts["authority"].rpartition("@")[2].partition(":")[0].lower()
        url = f"{host}/{parts['path'].lstrip('/')}"
    return url.rstrip("/").removesuffix(".git").rstrip("/")
