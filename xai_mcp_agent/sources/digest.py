"""Digest of a source as it would start now, to see whether the running one is still current."""

from __future__ import annotations

import os
import secrets

from ..settings.digest import digest_of
from ..settings.entry import SourceSettings
from ..settings.server import ServerSettings
from .process import inherited_environment
from .reading import file_stamp

KEY = secrets.token_bytes(32)
"""Random for each process: its digests are compared only with each other."""

# A learner changes the server and presses Run. Other files are data that a server may write.
_PROGRAMS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh")


def digest_of_source(settings: SourceSettings) -> str:
    """Return the digest of the expanded settings and, for a process, of program and environment."""
    if not isinstance(settings, ServerSettings) or settings.transport != "stdio":
        return digest_of(settings, KEY)
    paths = (os.path.join(settings.cwd, x) for x in (settings.command, *settings.args))
    stamps = [file_stamp(x) for x in paths if x.endswith(_PROGRAMS)]
    return digest_of((settings, inherited_environment(), stamps), KEY)
