"""A component file that does not belong to the engine is noticed, once, in one line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from xai_mcp_agent.canvas.installation import warn_of_stale_components, why_stale
from xai_mcp_agent.core.util import COMPONENT_FILES, installed_components_folder


@pytest.fixture
def installed() -> Path:
    return min(installed_components_folder().glob(COMPONENT_FILES))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "my work" / "xai_components" / "xai_mcp_agent"
    folder.mkdir(parents=True)
    return folder


def test_the_installed_file_an_equal_copy_and_a_link_are_fresh(
    installed: Path, library: Path
) -> None:
    (library.parent / "linked").symlink_to(installed.parent)
    shutil.copyfile(installed, library / installed.name)
    for folder in (installed.parent, library, library.parent / "linked"):
        assert why_stale(folder / installed.name) == ""
    (library / installed.name).unlink()
    assert why_stale(library / installed.name) == "", "one that cannot be read is not judged"


def test_a_copy_that_differs_is_named_once_with_the_command_to_run(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = ModuleType("stale")
    stale.__file__ = str(library / "agent_components.py")
    Path(stale.__file__).write_text("# older\n", encoding="ascii")
    monkeypatch.setitem(sys.modules, "xai_components.xai_mcp_agent.agent_components", stale)
    for _ in range(2):
        warn_of_stale_components()
    (line,) = (x for x in capsys.readouterr().err.splitlines() if stale.__file__ in x)
    assert f"`xai-mcp-agent init '{library.parent.parent}'`" in line


def test_a_stale_file_among_the_installed_packages_asks_for_a_plain_init(
    installed: Path, library: Path
) -> None:
    """An editable install leaves copies there; that folder is nobody's working folder."""
    (library.parents[1] / "xircuits").mkdir()
    for name in (installed.name, "retired_components.py"):
        (library / name).touch()
        assert "`xai-mcp-agent init`" in why_stale(library / name)
