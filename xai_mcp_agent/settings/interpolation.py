"""`${...}` in the texts of the settings: environment variables and a few built-in names.

`${VAR}`, `${VAR:-default}`, and the same with `env:` before the name. A default applies if the
variable is unset or empty; it cannot contain `}` or another `${`. `$${` stands for a plain `${`,
and any other `$` for itself.

The file `.env` beside the settings has values for `${NAME}`, and API keys of models. They do not
enter the environment of this process, and enter a server's environment only if the settings put
them there. The environment of the process takes precedence.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import SettingsError
from ..core.names import join_names
from ..secrets.search import secrets_in_env
from ..secrets.secrets import Secrets
from .document import KeyPlace, bytes_of_file

_MARK = re.compile(r"\$\$\{|\$\{(?P<body>[^}]*)(?P<end>\}?)")
_BODY = re.compile(r"(?P<env>env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.S)
_VSCODE = re.compile(r"(?P<kind>input|command|config):(?P<name>[\w.-]+)")
_BUILT_IN = ("python", "settingsFolder", "workspaceFolder", "userHome")
_LITERAL_FIX = "Write $${ where a plain ${ is meant."


def split_variables(text: str) -> list[str]:
    """Split the text into pieces: each `${...}`, and the text between them."""
    return re.split(r"(\$\$\{|\$\{[^}]*\}?)", text)


def variables_in(text: str) -> Iterator[str]:
    """Yield the names of the environment variables in a text."""
    for mark in _MARK.finditer(text):
        variable = _BODY.fullmatch(mark["body"] or "")
        if variable and (variable["env"] or variable["name"] not in _BUILT_IN):
            yield variable["name"]


@dataclass(frozen=True)
class Variables:
    """The values of `${...}` in one settings file.

    `folder` is the folder of the file. `env` has the values of the `.env` beside it; None for
    settings without a file. Secrets in the variables that are used are added to `secrets`.
    """

    environ: Mapping[str, str]
    folder: str
    secrets: Secrets = field(default_factory=Secrets)
    env: Mapping[str, str] | None = None

    def expand(self, text: str, place: KeyPlace) -> str:
        """Return `text` with every `${...}` replaced.

        Raises:
            SettingsError: a variable is not set and has no default, or `${...}` is malformed.
        """
        if "${" not in text:
            return text
        return _MARK.sub(lambda mark: self._value(mark, place), text)

    def _value(self, mark: re.Match[str], place: KeyPlace) -> str:
        if mark["body"] is None:
            return "${"
        if not mark["end"]:
            raise place.error("`${` has no closing `}`.", _LITERAL_FIX)
        variable = _BODY.fullmatch(mark["body"])
        if variable is None or "${" in mark["body"]:
            raise _malformed_error(mark["body"], place)
        default = variable["default"]
        value = self._lookup(variable["name"], in_environment=bool(variable["env"]))
        if default is not None and not value:
            value = default[2:]
        if value is None:
            raise self._missing(variable["name"], place)
        self.secrets.update(secrets_in_env({variable["name"]: value}))
        return value

    def _lookup(self, name: str, *, in_environment: bool) -> str | None:
        built_in = {} if in_environment else self._built_in()
        value = built_in.get(name, self.environ.get(name))
        return (self.env or {}).get(name) if value is None else value

    def _built_in(self) -> dict[str, str]:
        # VS Code calls it `workspaceFolder`; it is nearly the same as `settingsFolder`.
        values = sys.executable, self.folder, self.folder, os.path.expanduser("~")
        return dict(zip(_BUILT_IN, values, strict=True))

    def _missing(self, name: str, place: KeyPlace) -> SettingsError:
        fix = f"Set it before starting, or give a default: ${{{name}:-...}}."
        if self.env is not None:
            fix = f"Write {name}=... into the file .env beside this one. Or s{fix[1:]}"
        similar = [x for x in self._built_in() if x.lower() == name.lower().replace("_", "")]
        if similar:
            fix = f"Set it before starting, or write ${{{similar[0]}}}, which is always set."
        return place.error(f"environment variable {name} is not set.", fix)


def _malformed_error(body: str, place: KeyPlace) -> SettingsError:
    """Return the error for a malformed `${...}`; quote the body only if it is a name."""
    if _VSCODE.fullmatch(body):
        problem = f"${{{body}}} works in VS Code only."
        return place.error(problem, "Use an environment variable instead: ${NAME}.")
    if "${" in body:
        return place.error("a default cannot hold another `${`.", "Use one variable at a time.")
    problem = "`${...}` must hold the name of a variable, with or without a default."
    return place.error(problem, f"Write ${{NAME}} or ${{NAME:-default}}. {_LITERAL_FIX}")


# These variables decide which programs and libraries are loaded, and where requests go.
_NEVER_FROM_A_FOLDER = re.compile(
    r"(XAI|LD|DYLD|PYTHON|NODE|GIT|NPM|PIP|UV)_?\w*|\w*(_BASE_URL|PROXY|CA_BUNDLE|CERT_FILE)"
    r"|PATH|HOME|ENV|BASH_ENV",
    re.I,
)
ENV_FILE = ".env"
"""The file beside the settings that has values of variables."""
MOST_NAMES = 10  # variables to name in one sentence


def read_env_file(folder: Path, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Read the values in the folder's `.env` that `environ` does not have, and notes about it."""
    path = folder / ENV_FILE
    if not path.is_file():
        return {}, []
    from dotenv import dotenv_values  # most folders have no such file

    place = KeyPlace(str(path))
    try:
        text = bytes_of_file(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        return {}, [place.note("it is not used: it is not UTF-8 text.")]
    except SettingsError as problem:
        return {}, [place.note(f"it is not used: {problem.problem}")]
    pairs = dotenv_values(stream=io.StringIO(text), interpolate=False)
    ignored = [name for name in pairs if _NEVER_FROM_A_FOLDER.fullmatch(name)]
    names = [name for name in pairs if name not in ignored and name not in environ]
    values = {name: value for name in names if (value := pairs[name])}
    if not ignored:
        return values, []
    listing = join_names(ignored, MOST_NAMES)
    return values, [place.note(f"{listing}: ignored in this file. Set it before starting.")]
