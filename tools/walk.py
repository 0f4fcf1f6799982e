"""Files and functions that an operation enters: `python -m tools.walk [--verbose] [--page]`.

Each operation runs twice over stdio against a real server, and its second run is traced, so that
imports, connecting and first uses do not count. A walk has every named function of the package that
any thread enters, from the beginning until nothing of the package runs any more. It leaves out what
the history's writer thread saves later, in batches. The order within a thread is always the same;
the order between two threads may differ.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import xai_mcp_agent
from benchmarks import page
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from tests.support.processes import wait_until

COMMAND = "python -m tools.walk --page"

Trace: TypeAlias = tuple[tuple[str, str], ...]
"""Files of the package with their functions, in the order of first use."""

_PACKAGE = Path(xai_mcp_agent.__file__).parent
_PREFIX = f"{_PACKAGE}{os.sep}"
_SERVER = Path(__file__).with_name("walk_server.py")
_QUIET_SECONDS = 0.3  # steps take milliseconds; a waiting run polls each 0.5 s
_WALK_SECONDS = 30.0
# In the agent's loop a call begins with the first of these, and ends at the second.
_CALL_IN_TURN = ("AgentRun._answer_calls", "AgentRun._notice_changes")
_HELLO = {"text": "hello"}


@dataclass(frozen=True)
class Walk:
    """Files and functions that one operation entered."""

    name: str
    trace: Trace

    @property
    def files(self) -> tuple[str, ...]:
        """The files, each once."""
        return tuple(dict.fromkeys(file for file, _ in self.trace))


@dataclass
class _Tracer:
    """Notes the functions of the package that are entered during a walk, in every thread."""

    trace: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    is_on: bool = False
    first_function: str = ""  # where a walk begins; at once if empty
    end_function: str = ""  # where a walk ends; when all is quiet if empty
    last: float = 0.0

    @contextlib.contextmanager
    def everywhere(self) -> Generator[_Tracer]:
        """Trace this thread, and those that start in the block."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def start(self, first_function: str = "", end_function: str = "") -> None:
        """Begin a walk when everything before it is over."""
        self._wait_until_quiet()
        self.trace.clear()
        self.first_function, self.end_function = first_function, end_function
        self.is_on = not first_function

    def stop(self) -> Trace:
        """Stop tracing, and return the walk."""
        what = f"{self.first_function or 'anything'} is entered"
        wait_until(lambda: bool(self.trace), what, _WALK_SECONDS)
        self._wait_until_quiet()
        self.first_function, self.is_on = "", False
        return tuple(self.trace)

    def _wait_until_quiet(self) -> None:
        wait_until(
            lambda: time.monotonic() > self.last + _QUIET_SECONDS, "all is quiet", _WALK_SECONDS
        )

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Comprehensions and lambdas are part of the function they stand in.
        if event != "call" or code.co_name.startswith("<"):
            return
        if not code.co_filename.startswith(_PREFIX):
            return
        self.last = time.monotonic()
        name = code.co_qualname.replace(".<locals>", "")
        if name in (self.first_function, self.end_function):
            self.is_on = name == self.first_function
        if self.is_on:
            file = code.co_filename.removeprefix(_PREFIX).replace(os.sep, "/")
            self.trace.setdefault((file, name))


def walks() -> list[Walk]:
    """Take every walk."""
    tracer = _Tracer()
    with _working_folder(), tracer.everywhere():
        return list(_walks(tracer))


def _walks(tracer: _Tracer) -> Iterator[Walk]:
    yield _agents_call(tracer)
    with xai_mcp_agent.Bridge.open("mcp_settings.json") as bridge:

        def call() -> None:
            bridge.call_tool("walk", "echo", _HELLO)

        yield _walk(tracer, "`Bridge.call_tool`", call)
        yield Walk("a change notice", _change_notice(tracer, bridge))
    yield _walk(tracer, "`xai-mcp-agent history diff`", _diff)
    ctx: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        yield _walk(tracer, "the node MCPCallTool", lambda: _call_by_node(ctx))


def _walk(tracer: _Tracer, name: str, operation: Callable[[], None]) -> Walk:
    operation()  # warm
    tracer.start()
    operation()
    return Walk(name, tracer.stop())


def _agents_call(tracer: _Tracer) -> Walk:
    """Trace the second of two tool calls of an agent."""

    def script(body: dict[str, Any]) -> Step:
        answers = sum(x["role"] == "tool" for x in body["messages"])
        if answers == 1:
            tracer.start(*_CALL_IN_TURN)
        return says("done") if answers == 2 else calls(("walk_echo", _HELLO))

    with model_endpoint(script) as endpoint, contextlib.redirect_stdout(io.StringIO()):
        _run_agent(endpoint.base_url)
    return Walk("an agent's tool call", tracer.stop())


def _run_agent(base_url: str) -> None:
    from xai_mcp_agent.agent_components import (
        AgentInit,
        AgentMakeToolbelt,
        AgentRun,
        AgentUseMCPTools,
    )

    ctx: dict[str, Any] = {}
    _node(AgentUseMCPTools, server_name="walk").execute(ctx)
    belt = _node(AgentMakeToolbelt)
    belt.execute(ctx)
    _node(
        AgentInit, agent_name="walker", agent_provider="openai", agent_model="m",
        model_settings={"base_url": base_url, "api_key": "none"},
        toolbelt_spec=belt.toolbelt_spec.value,
    ).execute(ctx)  # fmt: skip
    _node(AgentRun, agent_name="walker", question="Go on.").execute(ctx)


def _change_notice(tracer: _Tracer, bridge: xai_mcp_agent.Bridge) -> Trace:
    trace: Trace = ()
    for name in ("warm", "walked"):
        file = Path(name).absolute()
        bridge.call_tool("walk", "add_later", {"name": name, "file": str(file)})
        tracer.start()
        file.touch()
        trace = tracer.stop()
        if name not in {x.name for x in bridge.list_tools("walk")}:
            raise TimeoutError(f"the tool {name!r} was not listed")
    return trace


def _diff() -> None:
    (command,) = entry_points(group="console_scripts", name="xai-mcp-agent")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        command.load()(["history", "diff", "walk"])


def _call_by_node(ctx: dict[str, Any]) -> None:
    from xai_mcp_agent.mcp_components import MCPCallTool

    _node(MCPCallTool, server_name="walk", tool_name="echo", arguments=_HELLO).execute(ctx)


def _node(component: Any, **values: Any) -> Any:
    node = component()
    for name, value in values.items():
        getattr(node, name).value = value
    return node


@contextlib.contextmanager
def _working_folder() -> Generator[None]:
    """Work in a new project with the server in its settings."""
    server = {"command": sys.executable, "args": [str(_SERVER)]}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        settings = Path("mcp_settings.json")
        settings.write_text(json.dumps({"mcpServers": {"walk": server}}), encoding="utf-8")
        os.environ["XAI_MCP_TRUST"] = str(
            settings.absolute()
        )  # the node finds it, and nobody is asked
        yield


def table(walks: list[Walk]) -> str:
    """Return the table, with a row for each walk."""
    rows = ((x.name, len(x.files), len(x.trace)) for x in walks)
    return page.table(("over stdio", "files", "functions"), rows) + "\n"


def in_order(walk: Walk) -> str:
    """Return the files and their functions, in the order of first use."""
    lines = [f"\n{walk.name}: {len(walk.files)} files, {len(walk.trace)} functions"]
    last = ""
    for file, function in walk.trace:
        lines.append(f"  {file if file != last else '':<40} {function}")
        last = file
    return "\n".join(lines)


def main() -> None:
    """Take the walks and print their table."""
    parser = argparse.ArgumentParser(description="Count the files that one call enters.")
    parser.add_argument("--verbose", action="store_true", help="also name files and functions")
    parser.add_argument(
        "--page", action="store_true", help=f"write the table into {page.PAGE.name}"
    )
    options = parser.parse_args()
    all_walks = walks()
    print(table(all_walks), end="")
    if options.verbose:
        print(*map(in_order, all_walks), sep="\n")
    if options.page:
        page.write(COMMAND, table(all_walks))


if __name__ == "__main__":
    main()
