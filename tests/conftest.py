"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support.environments import build_package


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The engine runs on asyncio: JupyterLab and the MCP SDK's subprocess support need it."""
    return "asyncio"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build_package(Path(__file__).parents[1], folder, "--target", "wheel")
    return next(folder.glob("*.whl"))


@pytest.fixture(autouse=True)
def _usual_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs print does not depend on what the person likes who runs the tests."""
    for name in ("XAI_MCP_SHOW", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
