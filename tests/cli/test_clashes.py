"""A library whose nodes have the names of ours is found and explained, whatever else is there."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.support.palette import palette
from tests.support.xai_agent_workflow import install, xai_agent_workflow
from xai_mcp_agent.cli.component_files import Clash, clash_lines, find_clashes
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.drawing.components import our_components

# Each would raise, print or hang if it were imported or read without care.
ODD_FILES = {
    "newer.py": "class AgentRun[T]: type X = ",
    "nul.py": "AgentRun = '\0'",
    "latin.py": "# -*- coding: nonsense -*-\nAgentRun = 1",
    "warns.py": "AgentRun = '\\ '",
    "raises.py": "raise SystemExit('AgentRun was imported')",
    "deep.py": "AgentRun = " + "(" * 5000,
}


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests is looked at."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XIRCUITS_COMPONENTS_DIR", raising=False)


def component(folder: Path, name: str, class_name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"@xai_component\nclass {class_name}(Component):\n    pass\n")
    return file


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(words)
    return int(ended.value.code or 0)


def test_a_folder_with_our_library_alone_has_no_clash(tmp_path: Path) -> None:
    assert init_folder(tmp_path / "lab").clashes == ()
    assert init_folder(tmp_path / "copied", link=False).clashes == ()


def test_both_libraries_in_a_folder_are_a_clash(tmp_path: Path) -> None:
    place = install("xai_agent", tmp_path)
    (clash,) = find_clashes(tmp_path)
    assert (clash.library, clash.folders) == ("xai_agent", (place,))
    assert set(clash.classes) < set(our_components())
    assert "AgentInit" in clash.classes
    assert "AgentMeditate" not in clash.classes


def test_the_palette_does_show_one_of_the_two(tmp_path: Path) -> None:
    """What we tell is so: Xircuits' own handler is asked."""
    folder = init_folder(tmp_path / "lab").folder
    install("xai_agent", folder)
    shown = [x["file_path"] for x in palette(folder) if x["task"] == "AgentRun"]
    assert len(shown) == 1


def test_the_explanation_says_the_effect_and_the_next_step(tmp_path: Path) -> None:
    place = install("xai_agent", tmp_path)
    lines = list(clash_lines(find_clashes(tmp_path)))
    text = " ".join(x.strip() for x in lines)
    assert text.startswith("note: the library xai_agent has nodes with the names of ours: Agent")
    assert "The palette shows only one node of a name" in text
    assert f"run `xai-mcp-agent adopt` on workflows made with it, then remove {place}." in text
    assert all(len(x) <= 80 for x in lines if str(place) not in x)


@pytest.mark.parametrize("place", ["home", "variable"])
def test_every_place_that_the_palette_reads_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = tmp_path / place / "xai_components"
    component(folder / "xai_more", "nodes.py", "AgentRun")
    if place == "variable":
        monkeypatch.setenv("XIRCUITS_COMPONENTS_DIR", str(folder))
    assert [x.library for x in find_clashes(tmp_path / "lab")] == ["xai_more"]


def test_a_library_in_two_places_is_reported_once_with_both(tmp_path: Path) -> None:
    first, second = install("xai_agent", tmp_path), install("xai_agent", tmp_path / "home")
    (clash,) = find_clashes(tmp_path, tmp_path)
    assert set(clash.folders) == {first, second}
    assert f"{first} and {second}" in clash.explanation


def test_names_in_text_and_in_files_that_the_palette_does_not_read_are_none(tmp_path: Path) -> None:
    library = tmp_path / "xai_components" / "xai_other"
    component(library / "deeper", "nodes.py", "AgentRun")
    component(library, ".hidden.py", "AgentRun")
    component(library, "nodes.py", "AgentRunner")
    (library / "plain.py").write_text('class AgentRun: "no component"\n')
    component(tmp_path / "xai_components" / "other", "nodes.py", "AgentRun")
    assert find_clashes(tmp_path) == ()


@pytest.mark.parametrize("name", ODD_FILES)
def test_a_file_that_cannot_be_read_hides_no_other(tmp_path: Path, name: str) -> None:
    library = tmp_path / "xai_components" / "xai_odd"
    component(library, "nodes.py", "AgentRun")
    (library / name).write_text(ODD_FILES[name], encoding="utf-8")
    (library / "folder.py").mkdir()
    (library / "loop.py").symlink_to(library / "loop.py")
    (library.parent / "xai_loop").symlink_to(library.parent / "xai_loop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (clash,) = find_clashes(tmp_path)
    assert clash.classes == ("AgentRun",)


# The commands


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with both libraries, and no server to start."""
    folder = init_folder(tmp_path_factory.mktemp("both") / "lab").folder
    install("xai_agent", folder)
    (folder / "mcp_settings.json").write_text('{"mcpServers": {}}')
    xai_agent_workflow().write(folder)
    return folder


COMMANDS = {
    "init": ["init", "."],
    "servers": ["servers", "check"],
    "adopt": ["adopt", "clock.xircuits", "--overwrite"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_the_command_explains_the_clash(
    both: Path, words: list[str], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(both)
    assert status(*words) == 0
    out = capsys.readouterr().out
    assert "note: the library xai_agent has nodes with the names of ours" in out
    assert status(*words, "--json") == 0
    (clash,) = json.loads(capsys.readouterr().out)["clashes"]
    assert clash["library"] == "xai_agent"
    assert clash["explanation"] in " ".join(out.split())
    assert set(clash) == set(Clash.__dataclass_fields__)
