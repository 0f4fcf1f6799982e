"""Fixtures of the canvas tests: a prepared folder, settings for one test, a server over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.commands import SERVERS, write_settings
from tests.support.kernels import Kernel, kernel
from tests.support.processes import free_port, listening_process
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.init import init_folder

UseServers: TypeAlias = Callable[..., Path]


@pytest.fixture(scope="session")
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder as a learner has it. Shared: put files under names of your own."""
    return init_folder(tmp_path_factory.mktemp("work") / "lab").folder


@pytest.fixture(scope="session")
def library() -> Iterator[dict[str, Any]]:
    """The example library, already running; its entry in the settings."""
    port = free_port()
    command = [warm_python(), str(SERVERS / "library.py"), "--http", str(port)]
    with listening_process(command, port):
        yield {"url": f"http://127.0.0.1:{port}/mcp"}


@pytest.fixture(scope="session")
def one_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """The kernel of all files `test_kernel*`, which `move` it to their folders."""
    with kernel(tmp_path_factory.mktemp("kernel")) as running:
        yield running


@pytest.fixture
def use_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UseServers:
    """Call it with sections and servers; the nodes of this test then have these settings."""

    def use(sections: dict[str, Any] | None = None, **servers: dict[str, Any]) -> Path:
        file = write_settings(tmp_path, servers, **(sections or {}))
        monkeypatch.setenv("XAI_MCP_SETTINGS", str(file))
        return file

    return use
