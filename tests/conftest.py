"""Fixtures shared by all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The engine runs on asyncio: JupyterLab and the MCP SDK's subprocess support need it."""
    return "asyncio"
