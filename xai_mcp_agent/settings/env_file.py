"""The file `.env` beside the settings: values for `${NAME}` and keys of models.

They do not get into the environment of this process, and into that of a server only where the
settings put them there. What the environment of the process has counts for more.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

from ..core.errors import SettingsError
from ..core.names import listed
from .document import Place, bytes_of_file
from .parts import ENV_FILE

# These decide which programs and libraries are loaded, and where requests go.
_NEVER_FROM_A_FOLDER = re.compile(
    r"(XAI|LD|DYLD|PYTHON|NODE|GIT|NPM|PIP|UV)_?\w*|\w*(_BASE_URL|PROXY|CA_BUNDLE|CERT_FILE)"
    r"|PATH|HOME|ENV|BASH_ENV",
    re.I,
)
_MOST_NAMES = 5


def read_env_file(folder: Path, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The values of the `.env` of this folder that `environ` does not have, and notes on it."""
    path = folder / ENV_FILE
    if not path.is_file():
        return {}, []
    from dotenv import dotenv_values  # most folders have no such file

    place = Place(str(path))
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
    listing = listed(ignored, _MOST_NAMES)
    return values, [place.note(f"{listing}: ignored in this file. Set it before starting.")]
