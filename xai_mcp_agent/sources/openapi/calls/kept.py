"""Binary answers as files: a model cannot read them, but a person or another tool can open them."""

from __future__ import annotations

import hashlib
import mimetypes
import re
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ....core.results import ResourcePart, ToolResult, bytes_of
from ....secrets.private_files import make_private_folder, replace_private

_DAYS = 7  # long enough to be looked at, and nobody has to clear up
_OLDEST_SECONDS = _DAYS * 24 * 3600
_DIGEST_LENGTH = 16


def with_files(result: ToolResult, service: str, folder: Path | None = None) -> ToolResult:
    """The result, its binary parts written to files of this user, and notes that say where.

    Blocks. `folder`: in place of the one for such files. What cannot be written is told in a note.
    """
    parts = [x for x in result.parts if isinstance(x, ResourcePart) and x.data]
    if not parts:
        return result
    folder = (folder or kept_folder()) / re.sub(r"[^A-Za-z0-9_-]", "_", service)
    try:
        make_private_folder(folder)
        _clear(folder)
        notes = [_kept(x, folder) for x in parts]
    except OSError as cause:
        why = cause.strerror or str(cause)
        notes = [f"its bytes could not be kept as a file in {folder}: {why}"]
    return replace(result, notes=(*result.notes, *notes))


def kept_folder() -> Path:
    """Where such files of this user are."""
    # Here, because most services answer with text.
    from platformdirs import user_cache_path

    return user_cache_path("xai-mcp-agent", appauthor=False) / "answers"


def _kept(part: ResourcePart, folder: Path) -> str:
    data = bytes_of(part)
    name = hashlib.sha256(data).hexdigest()[:_DIGEST_LENGTH]
    suffix = mimetypes.guess_extension(part.mime_type or "") or ".bin"
    file = folder / f"{name}{suffix}"
    replace_private(file, data)
    return f"its {len(data):,} bytes are kept for {_DAYS} days as the file {file}"


def _clear(folder: Path) -> None:
    """Remove what was kept long enough."""
    oldest = time.time() - _OLDEST_SECONDS
    for file in folder.iterdir():
        with suppress(OSError):  # another process removes it, too
            if file.stat().st_mtime < oldest:
                file.unlink()
