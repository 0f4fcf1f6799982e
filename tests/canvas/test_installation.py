"""A component file that does not belong to the engine is noticed, once, in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from xai_mcp_agent.canvas.installation import warn_if_stale
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
    assert warn_if_stale(str(installed)) is None


def test_an_equal_copy_and_a_link_are_fresh(installed: Path, library: Path) -> None:
    shutil.copyfile(installed, library / installed.name)
    assert warn_if_stale(str(library / installed.name)) is None
    (library.parent / "linked").symlink_to(installed.parent)
    assert warn_if_stale(str(library.parent / "linked" / installed.name)) is None


def test_a_copy_that_differs_is_named_once_with_the_command_to_run(
    installed: Path, library: Path
) -> None:
    stale = library / installed.name
    stale.write_text("# older\n", encoding="ascii")
    line = warn_if_stale(str(stale))
    assert line is not None
    assert "\n" not in line
    assert str(stale) in line
    assert f"`xai-mcp-agent init '{library.parent.parent}'`" in line
    assert warn_if_stale(str(stale)) is None, "said twice"


def test_a_component_file_this_version_no_longer_has_is_stale(library: Path) -> None:
    old = library / "retired_components.py"
    old.touch()
    assert warn_if_stale(str(old)) is not None


def test_a_stale_file_among_the_installed_packages_asks_for_a_plain_init(
    installed: Path, library: Path
) -> None:
    """An editable install leaves copies there; that folder is nobody's working folder."""
    (library.parents[1] / "xircuits").mkdir()
    (library / installed.name).touch()
    line = warn_if_stale(str(library / installed.name))
    assert line is not None
    assert "`xai-mcp-agent init`" in line


def test_a_file_that_cannot_be_read_is_not_judged(installed: Path, library: Path) -> None:
    assert warn_if_stale(str(library / installed.name)) is None


def test_what_an_editable_install_copies_is_fresh_until_a_node_changes(library: Path) -> None:
    (library.parents[1] / "xircuits").mkdir()
    for file in installed_components_folder().glob(COMPONENT_FILES):
        shutil.copy(file, library)
        assert warn_if_stale(str(library / file.name)) is None
    old = library.parent / "xai_mcp_agent_before"
    old.mkdir()
    text = (library / "agent_components.py").read_text(encoding="utf-8")
    changed = old / "agent_components.py"
    changed.write_text(text.replace("max_thoughts: InArg", "thoughts: InArg", 1), encoding="utf-8")
    assert warn_if_stale(str(changed)) is not None
