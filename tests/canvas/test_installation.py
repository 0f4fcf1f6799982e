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


def test_the_installed_file_itself_is_fresh(installed: Path) -> None:
    assert why_stale(installed) == ""


def test_an_equal_copy_and_a_link_are_fresh(installed: Path, library: Path) -> None:
    shutil.copyfile(installed, library / installed.name)
    assert why_stale(library / installed.name) == ""
    (library.parent / "linked").symlink_to(installed.parent)
    assert why_stale(library.parent / "linked" / installed.name) == ""


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


def test_a_component_file_this_version_no_longer_has_is_stale(library: Path) -> None:
    old = library / "retired_components.py"
    old.touch()
    assert why_stale(old)


def test_a_stale_file_among_the_installed_packages_asks_for_a_plain_init(
    installed: Path, library: Path
) -> None:
    """An editable install leaves copies there; that folder is nobody's working folder."""
    (library.parents[1] / "xircuits").mkdir()
    (library / installed.name).touch()
    line = why_stale(library / installed.name)
    assert "`xai-mcp-agent init`" in line


def test_a_file_that_cannot_be_read_is_not_judged(installed: Path, library: Path) -> None:
    assert why_stale(library / installed.name) == ""


def test_what_an_editable_install_copies_is_fresh_until_a_node_changes(library: Path) -> None:
    (library.parents[1] / "xircuits").mkdir()
    for file in installed_components_folder().glob(COMPONENT_FILES):
        shutil.copy(file, library)
        assert why_stale(library / file.name) == ""
    old = library.parent / "xai_mcp_agent_before"
    old.mkdir()
    text = (library / "agent_components.py").read_text(encoding="utf-8")
    changed = old / "agent_components.py"
    changed.write_text(text.replace("max_thoughts: InArg", "thoughts: InArg", 1), encoding="utf-8")
    assert why_stale(changed)
