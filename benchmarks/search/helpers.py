"""Programs in their own environments: a rival's search, and a tokenizer.

Answers are cached in `.cache/search`, by the question and the program.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..peers import environments
from ..peers.environments import environment_with, variables

CACHE = environments.CACHE.parent / "search"
_RUN_SECONDS = 400.0


@dataclass(frozen=True)
class Helper:
    """A program beside this file, and the packages that it needs.

    `unresolved` are installed last, without their own requirements.
    """

    name: str
    program: str
    package: str  # the one whose version matters
    pins: tuple[str, ...]
    unresolved: tuple[str, ...]

    def ask(self, job: Any) -> Any:
        """Return the program's answer; job and answer are JSON.

        Raises:
            OSError, subprocess.SubprocessError: it cannot be run.
        """
        program = Path(__file__).parent / self.program
        question = json.dumps(job)
        pins = (*self.unresolved, *self.pins)
        version = next(x for x in pins if x.startswith(f"{self.package}=="))
        digest = hashlib.sha256(f"{version}{program.read_text()}{question}".encode()).hexdigest()
        file = CACHE / f"{self.name}-{digest[:16]}.json"
        if not file.exists():
            answer = self._run(program, question)
            CACHE.mkdir(parents=True, exist_ok=True)
            file.write_text(answer, encoding="utf-8")
        return json.loads(file.read_text(encoding="utf-8"))

    def _run(self, program: Path, question: str) -> str:
        environment = environment_with(self.name, self.package, self.pins, self.unresolved)
        process = subprocess.run(
            [environment.python, "-I", str(program)], input=question, capture_output=True,
            text=True, encoding="utf-8", timeout=_RUN_SECONDS, check=False, env=variables(),
        )  # fmt: skip
        if process.returncode:
            last = "\n".join(process.stderr.strip().splitlines()[-3:])
            raise OSError(f"{program} ended with {process.returncode}: {last}")
        return process.stdout


# fastmcp 4.1.6 requires a newer certifi than some registries have; it also runs with an older one.
FASTMCP = Helper(
    "fastmcp-search", "fastmcp_bm25.py", "fastmcp",
    ("fastmcp==4.1.2", "mcp==2.3.0"), ("fastmcp-slim==4.1.6", "fastmcp==4.1.6"),
)  # fmt: skip
# Of litellm only the file with the encoding is used: tiktoken would download it.
TOKENIZER = Helper(
    "tokenizer", "count_tokens.py", "tiktoken", ("tiktoken==0.14.0",), ("litellm==1.109.1",)
)
