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
"""Name of the place that stores nothing."""

KINDS = "Write postgresql://user@host/database, a file, memory, or off."
"""Next step after a wrong place."""

SWITCHED_OFF = (
    "it is switched off, so nothing is remembered.",
    "Name a place in XAI_MCP_STORE or under `store` in the settings file.",
)
"""Problem of a history that is `OFF`, and the next step."""

_MEMORIES = (IN_MEMORY, ":memory:", "sqlite://", "sqlite:///:memory:")
_SQLITE = "sqlite:///"
HISTORY = Path(".xircuits", "history.db")
"""Default path in the folder of a project."""
_POSTGRESQL = ("postgresql", "postgres")
_DRIVER = "postgresql+psycopg"

_HASH_CHARS = 12
_NO_NAME = "project"
# Git also reads another user's repository: it runs nothing in it.
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

    `file` is the file of an SQLite database; memory and servers have none. `folder` is the
    project's. A store `is_own` if it lies in that folder; it stays the project's wherever the
    folder is moved. With `any_project` the file is read even if it belongs to another project. A
    file that `is_still` is read without creating files beside it. `problem` says why nothing can be
    stored there. `project` is the configured name of the project.
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
        """Return whether the history is switched off."""
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
        name = override or environ.get(ENVIRONMENT_VARIABLE, "").strip() or settings.store
        place = _parse(name, settings, folder)
    if place.problem and override:
        raise SettingsError("the place for the history", "", place.problem, KINDS)
    return replace(place, project=project)


def identity_of(file: Path | None) -> tuple[int, int] | None:
    """Return the device and inode of a file, or None if it does not exist."""
    with suppress(OSError):
        if file is not None:
            status = os.stat(file)
            return status.st_dev, status.st_ino
    return None


def _parse(name: str, settings: Settings, folder: Path) -> Place:
    if name.lower() == OFF:
        return Place("", OFF, folder)
    if name.lower() in _MEMORIES or (settings.is_from_python and not name):
        return Place("sqlite://", IN_MEMORY, folder)
    if "://" in name and not name.startswith(_SQLITE):
        settings.secrets.update(secrets_in_url(name))
        return _server(name, folder)
    return _file(name.removeprefix(_SQLITE), folder)


def _file(name: str, folder: Path) -> Place:
    file = folder / (os.path.expanduser(name) or HISTORY)
    return Place(f"{_SQLITE}{file}", str(file), folder, file, is_own=not name)


def _server(url: str, folder: Path) -> Place:
    scheme, _, rest = url.partition("://")
    is_supported = scheme.partition("+")[0].lower() in _POSTGRESQL
    problem = "" if is_supported else f"{scheme!r} is not a kind of database that can be used."
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


def project_of(folder: Path, name: str = "") -> Project:
    """Return the project of this name; else by the folder's repository origin, or its path."""
    place = name or _origin(folder) or str(folder)
    name = name or re.split(r"[/\\]", place.rstrip("/\\"))[-1] or _NO_NAME
    return Project(
        name, hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    )


def _origin(folder: Path) -> str:
    """Return the address that the repository was cloned from; "" without one, or without git.

    Of several addresses it is the first, which git fetches from.
    """
    # Starting git takes longer. An unreadable folder gives False, without an error.
    if not any(os.path.exists(x / ".git") for x in (folder, *folder.parents)):
        return ""
    # In a hook these variables name another repository.
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
