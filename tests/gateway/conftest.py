"""What the gateway's tests share: a working folder, and calls of a client of another program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support.callers import Answering
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, ToolResult
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.approval import ApprovalAnswer, ApprovalRequest, ApprovalScope
from xai_mcp_agent.core.calls import Caller, Host
from xai_mcp_agent.core.json import JsonObject
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


class Toolset(Protocol):
    """Some tools of the gateway."""

    async def call(
        self, name: str, arguments: JsonObject, operations: Operations
    ) -> ToolResult: ...


class Approving(Answering):
    """A person who gives this answer when a call waits for approval."""

    def __init__(self, answer: ApprovalScope) -> None:
        super().__init__("Ada")
        self._answer: ApprovalScope = answer
        self.approved: list[str] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The answer."""
        self.approved.append(request.tool)
        return ApprovalAnswer(self._answer)


class Client:
    """The client of another program, on a bridge; `host` answers what it is asked."""

    def __init__(self, bridge: Bridge, host: Host | None = None) -> None:
        self.bridge = bridge
        self._caller = Caller("gateway", "claude", host=host)

    def call(self, tools: Toolset, name: str, **arguments: Any) -> ToolResult:
        """Call a tool of the gateway."""

        async def call(operations: Operations) -> ToolResult:
            return await tools.call(name, arguments, operations.for_caller(self._caller))

        return self.bridge.run(call)

    def ask(self, what: Callable[[Operations], Any]) -> Any:
        """Run a coroutine function of the client's operations."""

        async def run(operations: Operations) -> Any:
            return await what(operations.for_caller(self._caller))

        return self.bridge.run(run)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose settings have the functions of a library."""
    # Workflows are read and run by a warm Python: what is tested is what they do.
    monkeypatch.setattr(process, "_PYTHON", (warm_python(), *process._PYTHON[1:]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "library.py").write_text(_LIBRARY, encoding="utf-8")
    write_settings(tmp_path)
    return tmp_path


def write_settings(folder: Path, **sections: Any) -> None:
    """Write the settings, with these sections beside the library."""
    settings = {"functions": {"library": {"file": "library.py"}}, "store": "memory", **sections}
    (folder / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")


@pytest.fixture
def connect(folder: Path) -> Iterator[Callable[..., Client]]:
    """Makes a client of a bridge of the working folder."""
    with ExitStack() as stack:
        yield lambda host=None: Client(stack.enter_context(Bridge()), host)
