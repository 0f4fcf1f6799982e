"""Time to the first tool call of the quickstart, as a compiled script in a fresh process.

Compared with the least that any client needs for it: an interpreter that imports
the SDK, starts one server and calls one tool.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .echo import SERVER
from .rows import Row, size

_ROUNDS = size(5, 1)
_LIMIT_SECONDS = 60
_BARE = f"""
import asyncio, sys
from mcp import Client, StdioServerParameters
async def main():
    async with Client(StdioServerParameters(command=sys.executable, args=[{SERVER!r}])) as client:
        await client.list_tools()
        await client.call_tool("echo", {{"text": "hello"}})
        print("<- echo", flush=True)
asyncio.run(main())
"""


def rows() -> Iterator[Row]:
    """Measure the quickstart and the bare client in turn."""
    with tempfile.TemporaryDirectory() as folder:
        script = quickstart(Path(folder))
        ours, bare = [], []
        for _ in range(_ROUNDS):
            ours.append(_seconds_until_call([sys.executable, str(script)], folder))
            bare.append(_seconds_until_call([sys.executable, "-c", _BARE], folder))
    what = "quickstart until its first tool call"
    yield Row(what, min(ours), " s")
    yield Row(f"{what} / a bare client with one server", min(ours) / min(bare), "x", 1.5)


def quickstart(folder: Path) -> Path:
    """Compile the quickstart in a new working folder; return the script's path."""
    from xai_mcp_agent.cli.init import init_folder

    init_folder(folder)
    script = folder / "quickstart.py"
    compiler = [sys.executable, "-c", "from xircuits.start_xircuits import main; main()"]
    subprocess.run(
        [*compiler, "compile", "examples/ex01_quickstart.xircuits", str(script)],
        cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return script


def _seconds_until_call(command: list[str], folder: str) -> float:
    """Return the seconds until the first line that shows the result of a tool."""
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.lstrip().startswith("<- "):
                seconds = time.perf_counter() - start
                process.communicate(timeout=_LIMIT_SECONDS)
                return seconds
    raise RuntimeError("the script ended without a tool call")
