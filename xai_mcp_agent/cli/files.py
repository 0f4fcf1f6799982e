"""Files of a person that commands write: nothing is lost, and nothing is left half written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def free_backup_name(folder: Path, name: str) -> Path:
    """Return a path in `folder` for a backup of the file `name`, where nothing is yet."""
    backup = folder / f"{name}.bak"
    number = 2
    while os.path.lexists(backup):
        backup = folder / f"{name}.{number}.bak"
        number += 1
    return backup


def replace_text(file: Path, text: str) -> Path | None:
    """Write `text` to `file`, whole or not at all; return where the old file is kept, if any.

    A link is followed: the file that it leads to is replaced.

    Raises:
        OSError: it cannot be written; the old file is then untouched.
    """
    target = file.resolve() if file.is_symlink() else file
    fresh = target.with_name(f".{target.name}.part")
    backup = None
    try:
        fresh.write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            backup = free_backup_name(target.parent, target.name)
            shutil.copy2(target, backup)
            shutil.copymode(target, fresh)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return backup
