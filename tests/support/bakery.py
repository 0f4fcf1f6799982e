"""The example service of a bakery, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

FILE = Path(__file__).parents[2] / "examples" / "services" / "bakery.py"
_END_SECONDS = 60.0


@contextmanager
def bakery(*options: str) -> Generator[str]:
    """Run it for the length of the block; yield its address."""
    with subprocess.Popen(
        [sys.executable, str(FILE), "--port", "0", *options], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        try:
            yield running.stdout.readline().strip()
        finally:
            running.terminate()
            running.wait(_END_SECONDS)
