"""Programs in environments of their own: a rival's search, and a tokenizer.

What they answer is kept in `.cache/search`, by what they were asked and what they are: asked the
same, they are not run again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..peers.environments import CACHE, Environment, environment_with, variables

_RUN_SECONDS = 400.0
_KEPT = CACHE.parent / "search"


@dataclass(frozen=True)
class Helper:
    """A program beside this file, and what has to be installed for it.

    `unresolved` are installed last, without what they ask for.
    """

    name: str
    program: str
    package: str  # whose version is told
    pins: tuple[str, ...]
    unresolved: tuple[str, ...]

    @property
    def version(self) -> str:
        """The one that is asked for."""
        return next(x for x in (*self.unresolved, *self.pins) if x.startswith(f"{self.package}=="))

    def environment(self) -> Environment:
        """Made if there is none.

        Raises:
            OSError, subprocess.SubprocessError: it cannot be made.
        """
        return environment_with(self.name, self.package, self.pins, self.unresolved)

    def ask(self, job: Any, kept: Path = _KEPT) -> Any:
        """Return the program's answer; job and answer are JSON.

        Raises:
            OSError, subprocess.SubprocessError: it cannot be run.
        """
        program = Path(__file__).parent / self.program
        asked = json.dumps(job)
        digest = hashlib.sha256(f"{self.version}{program.read_text()}{asked}".encode()).hexdigest()
        file = kept / f"{self.name}-{digest[:16]}.json"
        if not file.exists():
            command = [self.environment().python, "-I", str(program)]
            answer = _run(command, asked)
            kept.mkdir(parents=True, exist_ok=True)
            file.write_text(answer, encoding="utf-8")
        return json.loads(file.read_text(encoding="utf-8"))


# It asks for newer certificates than some registries have; it runs with those that there are.
FASTMCP = Helper(
    "fastmcp-search", "fastmcp_bm25.py", "fastmcp",
    ("fastmcp==4.1.2", "mcp==2.3.0"), ("fastmcp-slim==4.1.6", "fastmcp==4.1.6"),
)  # fmt: skip
# Of the second only the file with the encoding is used: tiktoken would download it.
TOKENIZER = Helper(
    "tokenizer", "count_tokens.py", "tiktoken", ("tiktoken==0.14.0",), ("litellm==1.109.1",)
)


def _run(command: Sequence[str], asked: str) -> str:
    done = subprocess.run(
        command, input=asked, capture_output=True, text=True, encoding="utf-8",
        timeout=_RUN_SECONDS, check=False, env=variables(),
    )  # fmt: skip
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise OSError(f"{command[-1]} ended with {done.returncode}: {last}")
    return done.stdout
