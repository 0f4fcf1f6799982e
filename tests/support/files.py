"""Files that change during a test."""

from __future__ import annotations

import os
from pathlib import Path


def change(file: Path, text: str) -> None:
    """Write the file with a later time, so that the change is visible even with a coarse clock."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 10**9, before + 10**9))
