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

from .rows import Row, size

_SERVER = str(Path(__file__).with_name("echo_server.py"))
_ROUNDS = size(5, 1)
_LIMIT_SECONDS = 60
_BARE = f"""
import asyncio, sys
from mcp import Client, StdioServerParameters
async def main():
    async with Client(StdioServerParameters(command=sys.executable, args=[{_SERVER!r}])) as client:
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
            ours.append(_until_first_call([sys.executable, str(script)], folder))
            bare.append(_until_first_call([sys.executable, "-c", _BARE], folder))
    yield Row("quickstart until its first tool call", min(ours), " s")
    what = "quickstart until its first tool call / a bare client with one server"
    yield Row(what, min(ours) / min(bare), "x", 1.5)


def quickstart(folder: Path) -> Path:
    """The compiled quickstart in a new working folder."""
    from xai_mcp_agent.cli.init import init_folder

    init_folder(folder)
    script = folder / "quickstart.py"
    compiler = [sys.executable, "-c", "from xircuits.start_xircuits import main; main()"]
    subprocess.run(
        [*compiler, "compile", "examples/ex01_quickstart.xircuits", str(script)],
        cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return script


def _until_first_call(command: list[str], folder: str) -> float:
    """Seconds until the first line that shows the result of a tool."""
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.lstrip().startswith("<- "):
                taken = time.perf_counter() - started
                break
        else:
            raise RuntimeError("the script ended without a tool call")
        process.communicate(timeout=_LIMIT_SECONDS)
    return taken
