"""What the canvas tests share: a folder that `init` prepared."""

from __future__ import annotations

from pathlib import Path

import pytest

from xai_mcp_agent.cli.init import init_folder


@pytest.fixture(scope="session")
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder as a learner has it. Shared: put files under names of your own."""
    return init_folder(tmp_path_factory.mktemp("work") / "lab").folder
