"""`init` prepares a folder in any state, harms nothing in it, and names clashing libraries."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.commands import Cli
from tests.support.palette import palette
from tests.support.xai_agent_workflow import install, xai_agent_workflow
from xai_mcp_agent.cli import init
from xai_mcp_agent.cli.component_files import find_clashes
from xai_mcp_agent.cli.init import InitError, InitReport, init_folder
from xai_mcp_agent.core.util import COMPONENT_FILES, installed_components_folder
from xai_mcp_agent.drawing.components import our_components

LIBRARY = "xai_components/xai_mcp_agent"
SHIPPED = Path(__file__).parents[2] / "examples"


def actions(report: InitReport) -> dict[str, str]:
    return {step.path: step.action for step in report.steps}


def a_component_file() -> Path:
    return next(iter(sorted(installed_components_folder().glob(COMPONENT_FILES))))


@pytest.fixture(autouse=True)
def _at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries of the person who runs the tests are not searched."""
    monkeypatch.delenv("XIRCUITS_COMPONENTS_DIR", raising=False)


@pytest.fixture
def ready(folder: Path) -> Path:
    """A folder that `init` has prepared."""
    return init_folder(folder / "ready").folder


@pytest.fixture
def copied(folder: Path) -> Path:
    """A folder with copies of the component files, as Xircuits itself makes them."""
    return init_folder(folder / "copied", link=False).folder


def test_init_makes_a_working_folder_and_creates_it_if_needed(folder: Path):
    report = init_folder(folder / "deep" / "down")
    assert Path.cwd() == folder, "the working directory stays what it was"
    ready = report.folder
    assert actions(report)[LIBRARY] == "linked"
    assert report.clashes == ()
    for path in (".xircuits/config.ini", "xai_components/base.py", "mcp_settings.json"):
        assert (ready / path).is_file(), path
    assert (ready / LIBRARY).samefile(installed_components_folder())
    assert [x for x in os.listdir(ready) if x.startswith(".xai-init")] == []
    for file in (x for kind in ("*.xircuits", "servers/*.py") for x in SHIPPED.glob(kind)):
        assert (ready / "examples" / file.relative_to(SHIPPED)).read_bytes() == file.read_bytes()
    # Xircuits makes a card of each template, in the name of the file.
    cards = {x.name: x.read_bytes() for x in (ready / ".xircuits/templates").iterdir()}
    assert cards == {x.name: x.read_bytes() for x in SHIPPED.glob("templates/*.xircuits")} != {}
    assert not (ready / "examples" / "templates").exists()
    # A library without an __init__.py is offered for installation (Xircuits 1.19.2).
    config = json.loads((ready / ".xircuits/component_library_config.json").read_text())
    ours = [x["status"] for x in config["libraries"] if x["library_id"] == "MCP_AGENT"]
    assert ours == ["installed"]


def test_a_second_run_changes_nothing_and_brings_back_no_removed_library(ready: Path, copied: Path):
    shutil.rmtree(ready / "xai_components/xai_template")  # the user removed it
    for folder, link in ((ready, True), (copied, False)):
        report = init_folder(folder, link=link)
        assert set(actions(report).values()) == {"up to date"}
        assert not report.changed
    assert not (ready / "xai_components/xai_template").exists()


def test_a_file_of_the_user_is_kept(folder: Path):
    paths = (
        "mcp_settings.json", "examples/servers/library.py",
        ".xircuits/templates/agent_with_tools.xircuits",
    )  # fmt: skip
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("mine", encoding="utf-8")
    report = init_folder(folder)
    for path in paths:
        assert actions(report)[path] == "kept"
        assert (folder / path).read_text(encoding="utf-8") == "mine"


def test_keys_are_ignored_by_git_also_where_a_person_ignores_other_files(folder: Path):
    (folder / ".gitignore").write_text("*.log", encoding="utf-8")
    assert actions(init_folder(folder))[".gitignore"] == "extended"
    assert (folder / ".gitignore").read_text(encoding="utf-8").split() == ["*.log", ".env"]
    assert actions(init_folder(folder))[".gitignore"] == "up to date"


def test_copies_that_xircuits_made_become_a_link_and_a_link_copies_on_request(copied: Path):
    """A link follows every upgrade; copies are for a folder that is handed to someone else."""
    assert actions(init_folder(copied))[LIBRARY] == "linked"
    assert (copied / LIBRARY).is_symlink()
    assert list(copied.rglob("*.bak")) == []
    assert actions(init_folder(copied, link=False))[LIBRARY] == "copied"
    assert not (copied / LIBRARY).is_symlink()
    assert a_component_file().is_file(), "the installed file must not be harmed"


@pytest.mark.parametrize("link", [True, False])
def test_a_stale_copy_is_replaced_and_kept_as_a_backup(copied: Path, link: bool):
    installed = a_component_file()
    stale = copied / LIBRARY / installed.name
    texts = ["first", "second"][: 1 if link else 2]
    for text in texts:
        stale.write_text(text, encoding="utf-8")
        report = init_folder(copied, link=link)
        assert actions(report)[f"{LIBRARY}/{installed.name}"] == "replaced"
        assert stale.read_bytes() == installed.read_bytes()
        assert f"xai_components/{installed.name}." in "".join(x.note for x in report.steps)
    assert sorted(x.read_text(encoding="utf-8") for x in copied.rglob("*.bak")) == texts


def test_a_library_folder_with_files_of_the_user_is_not_replaced_by_a_link(copied: Path):
    """A link would have to delete them."""
    (copied / LIBRARY / "my_components.py").write_text("# mine\n", encoding="utf-8")
    (copied / LIBRARY / a_component_file().name).unlink()
    report = init_folder(copied)
    assert actions(report)[LIBRARY] == "copied"
    assert actions(report)[f"{LIBRARY}/my_components.py"] == "kept"
    assert (copied / LIBRARY / a_component_file().name).is_file()
    assert not init_folder(copied).changed


def test_a_link_to_another_place_is_repaired(ready: Path):
    """For example after the virtual environment was created again."""
    (ready / "elsewhere").mkdir()
    for target in ("gone", "elsewhere"):
        (ready / LIBRARY).unlink()
        (ready / LIBRARY).symlink_to(ready / target)
        assert actions(init_folder(ready))[LIBRARY] == "linked"
        assert (ready / LIBRARY).samefile(installed_components_folder())
    assert (ready / "elsewhere").is_dir()


def test_a_partly_initialised_folder_is_completed(folder: Path):
    """Our history may be in .xircuits first; `xircuits init` itself refuses such a folder."""
    (folder / ".xircuits").mkdir()
    (folder / ".xircuits/history.db").write_text("ours", encoding="utf-8")
    (folder / "xai_components").mkdir()
    init_folder(folder)
    assert (folder / ".xircuits/history.db").read_text(encoding="utf-8") == "ours"
    assert (folder / ".xircuits/config.ini").is_file()
    assert (folder / "xai_components/base.py").is_file()


# The command


def test_the_command_reports_its_steps_and_the_next_ones(folder: Path, cli: Cli):
    lines = cli("init lab").out.splitlines()
    for line in (
        "  linked      xai_components/xai_mcp_agent", "  cd lab",
        "  xircuits start           (or: jupyter lab)",
    ):  # fmt: skip
        assert line in lines
    own = [x for x in lines if str(folder) not in x and "(to " not in x]
    assert max(map(len, own)) <= 80
    cli("init lab").shows("Everything is up to date.")


def test_without_the_canvas_the_folder_is_ready_for_commands_and_says_what_to_install(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """As after `pip install xai-mcp-agent` without `[lab]`; `init` completes it later."""
    with monkeypatch.context() as bare:
        bare.setattr(init, "find_spec", lambda _: None)
        cli("init lab").shows("missing the canvas", 'pip install "xai-mcp-agent[lab]"')
        assert "xircuits start" not in cli("init lab").out
    cli("ask 'Books about the sea?' --settings lab/mcp_settings.json").shows("Moby-Dick")
    assert actions(init_folder(folder / "lab"))[LIBRARY] == "linked"


def test_a_place_that_cannot_be_a_folder_is_an_error(folder: Path):
    (folder / ".xircuits").write_text("a file")
    with pytest.raises(InitError, match=r"Cannot prepare .*: File exists"):
        init_folder(folder)
    with pytest.raises(InitError, match=r"test_init\.py is a file"):
        init_folder(Path(__file__))


# Other libraries with the names of our nodes


def component(folder: Path, name: str, class_name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"@xai_component\nclass {class_name}(Component):\n    pass\n"
    (folder / name).write_text(text)


def test_xai_agent_in_the_same_folder_is_a_clash_as_in_the_palette(folder: Path, cli: Cli):
    init_folder(folder)
    place, again = install("xai_agent", folder), install("xai_agent", folder.parent / "home")
    nodes = [x["file_path"] for x in palette(folder) if x["task"] == "AgentRun"]
    assert len(nodes) == 1, "Xircuits' own handler confirms it"
    clash, other = find_clashes(folder, folder)
    assert (clash.library, clash.folder, other.folder) == ("xai_agent", place, again)
    assert set(clash.classes) < set(our_components())
    assert ("AgentInit" in clash.classes, "AgentMeditate" in clash.classes) == (True, False)
    assert "The palette shows only one node of a name" in clash.explanation
    step = "run `xai-mcp-agent adopt` on workflows made with it, then remove"
    assert f"{step} {place}." in clash.explanation
    (folder / "mcp_settings.json").write_text('{"mcpServers": {}}')
    xai_agent_workflow().write(folder)
    for line in ("init .", "servers check", "adopt clock.xircuits --overwrite"):
        cli(line).shows("note: the library xai_agent has nodes with the names of ours")
        clash_json, _ = cli(f"{line} --json").json["clashes"]
        assert (clash_json["library"], clash_json["classes"]) == ("xai_agent", list(clash.classes))


def test_a_library_in_the_folder_of_the_variable_clashes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    component(folder / "xai_more", "nodes.py", "AgentRun")
    monkeypatch.setenv("XIRCUITS_COMPONENTS_DIR", str(folder))
    assert [x.library for x in find_clashes(folder / "lab")] == ["xai_more"]


def test_only_files_that_the_palette_reads_clash_and_odd_files_do_no_harm(folder: Path):
    library = folder / "xai_components" / "xai_odd"
    component(library / "deeper", "nodes.py", "AgentRun")
    component(library, ".hidden.py", "AgentRun")
    component(library, "nodes.py", "AgentRunner")
    (library / "plain.py").write_text('class AgentRun: "no component"\n')
    component(folder / "xai_components" / "other", "nodes.py", "AgentRun")
    assert find_clashes(folder) == ()
    component(library, "nodes.py", "AgentRun")
    (library / "newer.py").write_bytes(b"type A = \xff\0")
    (library / "folder.py").mkdir()
    (library / "loop.py").symlink_to(library / "loop.py")
    (library.parent / "xai_loop").symlink_to(library.parent / "xai_loop")
    (clash,) = find_clashes(folder)
    assert clash.classes == ("AgentRun",)
