"""Fixtures of the gateway's tests: a working folder, and clients of another program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support import commands
from tests.support.callers import Answering
from tests.support.warm_python import warm_python
from tests.support.warm_servers import WarmServers, warm_servers
from xai_mcp_agent import Bridge, ToolResult
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.approval import ApprovalAnswer, ApprovalRequest, ApprovalScope
from xai_mcp_agent.core.calls import Caller, Host
from xai_mcp_agent.gateway.endpoint import Endpoint, Options
from xai_mcp_agent.sources.workflows import process

_LIBRARY = '''
def find_books(subject: str) -> dict:
    """Find the books about a subject."""
    return {"books": [{"id": "b1", "title": f"All about {subject}"}]}


def lend(book_id: str, reader: str = "Ada") -> dict:
    """Lend a book to a reader."""
    return {"loan": f"{book_id} to {reader}"}


def write_letter(to: str, text: str) -> str:
    """Write a letter."""
    return f"Dear {to}, {text}"
'''


class Approving(Answering):
    """A person who gives the same answer to each approval request."""

    def __init__(self, answer: ApprovalScope) -> None:
        super().__init__("Ada")
        self._answer: ApprovalScope = answer
        self.approved_tools: list[str] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the answer."""
        self.approved_tools.append(request.tool)
        return ApprovalAnswer(self._answer)


class FarClient:
    """A client of another program at an endpoint; `host` answers its questions."""

    def __init__(self, bridge: Bridge, options: Options, host: Host | None = None) -> None:
        self._bridge = bridge
        self._caller = Caller("gateway", "claude", host=host)

        async def open_endpoint(operations: Operations) -> Endpoint:
            endpoint = Endpoint(operations, options)
            await endpoint.connect()
            return endpoint

        self._endpoint = bridge.run(open_endpoint)

    def list_tools(self) -> list[str]:
        """Return the names of the listed tools."""
        tools = self._bridge.run(lambda _: self._endpoint.list_tools())
        return [name for name, _ in tools]

    def call(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool."""
        return self._bridge.run(
            lambda _: self._endpoint.call(name, arguments, self._caller, None, None)
        )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose settings have the functions of a library."""
    # A warm Python reads and runs workflows, because it starts faster.
    monkeypatch.setattr(process, "_PYTHON", (warm_python(), *process._PYTHON[1:]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "library.py").write_text(_LIBRARY, encoding="utf-8")
    write_settings(tmp_path)
    return tmp_path


@pytest.fixture
def servers() -> Iterator[WarmServers]:
    """Settings with the gallery, and the process that keeps their servers."""
    with warm_servers() as servers:
        yield servers


def write_settings(folder: Path, **sections: Any) -> None:
    """Write the settings, with these sections beside the library."""
    library = {"functions": {"library": {"file": "library.py"}}, "store": "memory"}
    commands.write_settings(folder, sections.pop("mcpServers", {}), **library, **sections)


@pytest.fixture
def connect(folder: Path) -> Iterator[Callable[..., FarClient]]:
    """Function that returns a client of an endpoint over the settings of the working folder."""
    with ExitStack() as stack:

        def connect(host: Host | None = None, **options: Any) -> FarClient:
            bridge = stack.enter_context(Bridge())
            return FarClient(bridge, Options(**options), host)

        yield connect
