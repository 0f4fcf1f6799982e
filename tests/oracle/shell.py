"""Runs the installed command again and again, each time in a child of a process that has it loaded.

A line of JSON on stdin says with which words, where, in which environment, and into which files it
prints; a line on stdout gives the exit status.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib.metadata import entry_points
from io import FileIO, TextIOWrapper

_COMMAND = "xai-mcp-agent"


def main() -> None:
    """Serve until stdin ends."""
    (entry,) = entry_points(group="console_scripts", name=_COMMAND)
    command = entry.load()
    gc.collect()
    gc.freeze()  # children do not look through it
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if not child:
            _become(task)
            command()
            return
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(task: dict[str, object]) -> None:
    """Be a process as a shell would have started it."""
    files = [os.open(os.devnull, os.O_RDONLY)]
    files += [os.open(str(task[x]), os.O_WRONLY | os.O_CREAT) for x in ("stdout", "stderr")]
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = TextIOWrapper(FileIO(0), "utf-8")
    sys.stdout = TextIOWrapper(FileIO(1, "w"), "utf-8")
    sys.stderr = TextIOWrapper(FileIO(2, "w"), "utf-8", write_through=True)
    os.chdir(str(task["folder"]))
    os.environ.update(task["variables"])  # type: ignore
    sys.argv = [_COMMAND, *task["words"]]  # type: ignore


if __name__ == "__main__":
    main()
