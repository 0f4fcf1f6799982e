"""Writes the contents of resources to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core.errors import XaiMcpError
from ..core.results import ResourcePart, bytes_of


class CannotSave(XaiMcpError):
    """A file that could not be written; the message says where and why."""


def save(contents: Sequence[ResourcePart], file: str) -> list[str]:
    """Write what was read to this file, and return where it went; folders are made.

    A resource that has several contents goes to as many files: `page.png`, `page-2.png`, ...

    Raises:
        CannotSave: the file cannot be written.
    """
    target = Path(file).expanduser()
    numbered = (target.with_stem(f"{target.stem}-{n}") for n in range(2, len(contents) + 1))
    files = [target, *numbered][: len(contents)]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for path, part in zip(files, contents, strict=True):
            path.write_bytes(bytes_of(part))
    except OSError as cause:
        raise CannotSave(
            f"{target} could not be written: {cause.strerror or cause}. Choose another `save_as`."
        ) from cause
    return [str(x) for x in files]
