"""Digest of one source as it would start now: whether the one that runs is still the same."""

from __future__ import annotations

import os
import secrets

from ..settings.digest import digest_of
from ..settings.entry import SourceSettings
from ..settings.server import ServerSettings
from .process import inherited_environment
from .reading import file_stamp

KEY = secrets.token_bytes(32)
"""Of this process: its digests are compared with each other and with no others."""

# A learner changes the server and presses Run. Other files are data, which a server may write.
_PROGRAMS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh")


def digest_of_source(settings: SourceSettings) -> str:
    """The digest of its expanded settings and, for a process, of its program and environment."""
    if not isinstance(settings, ServerSettings) or settings.transport != "stdio":
        return digest_of(settings, KEY)
    paths = (os.path.join(settings.cwd, x) for x in (settings.command, *settings.args))
    stamps = [file_stamp(x) for x in paths if x.endswith(_PROGRAMS)]
    return digest_of((settings, inherited_environment(), stamps), KEY)
