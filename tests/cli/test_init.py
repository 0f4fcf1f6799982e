"""`xai-mcp-agent init` prepares a folder in whatever state it is, and harms nothing in it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.palette import our_palette
from xai_mcp_agent.cli.init import InitError, InitReport, init_folder
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.core.util import COMPONENT_FILES, installed_components_folder

LIBRARY = "xai_components/xai_mcp_agent"
STRANGER = 65534  # the user nobody


def actions(report: InitReport) -> dict[str, str]:
    return {step.path: step.action for step in report.steps}


def a_component_file() -> Path:
    return next(iter(sorted(installed_components_folder().glob(COMPONENT_FILES))))


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A folder that `init` has prepared."""
    return init_folder(tmp_path / "ready").folder


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with copies of the component files, as Xircuits itself makes them."""
    return init_folder(tmp_path / "copied", link=False).folder


def test_an_empty_folder_becomes_a_working_folder(tmp_path: Path) -> None:
    report = init_folder(tmp_path)
    assert actions(report)[LIBRARY] == "linked"
    for path in (".xircuits/config.ini", "xai_components/base.py", "mcp_settings.json"):
        assert (tmp_path / path).is_file(), path
    assert (tmp_path / LIBRARY).samefile(installed_components_folder())
    assert [path for path in os.listdir(tmp_path) if path.startswith(".xai-init")] == []


def test_a_folder_that_does_not_exist_is_created(tmp_path: Path) -> None:
    init_folder(tmp_path / "deep" / "down")
    assert (tmp_path / "deep" / "down" / "mcp_settings.json").is_file()


def test_the_examples_are_there_with_their_folders(ready: Path) -> None:
    shipped = Path(__file__).parents[2] / "examples"
    files = [file for kind in ("*.xircuits", "servers/*.py") for file in shipped.glob(kind)]
    assert files
    for file in files:
        assert (ready / "examples" / file.relative_to(shipped)).read_bytes() == file.read_bytes()


def test_the_launcher_gets_its_templates(ready: Path) -> None:
    """Xircuits makes a card of each workflow there, in the name of the file."""
    shipped = Path(__file__).parents[2] / "examples" / "templates"
    cards = {x.name: x.read_bytes() for x in (ready / ".xircuits/templates").iterdir()}
    assert cards == {x.name: x.read_bytes() for x in shipped.glob("*.xircuits")} != {}
    assert not (ready / "examples" / "templates").exists()


def test_the_lab_lists_our_library_as_installed(ready: Path) -> None:
    """One without an __init__.py is offered for installation (Xircuits 1.19.2)."""
    config = json.loads((ready / ".xircuits/component_library_config.json").read_text())
    ours = [entry for entry in config["libraries"] if entry["library_id"] == "MCP_AGENT"]
    assert [entry["status"] for entry in ours] == ["installed"]


def test_a_second_run_finds_everything_up_to_date(ready: Path) -> None:
    report = init_folder(ready)
    assert set(actions(report).values()) == {"up to date"}
    assert not report.changed


def test_copies_are_up_to_date_on_a_second_run_too(copied: Path) -> None:
    assert set(actions(init_folder(copied, link=False)).values()) == {"up to date"}


def test_the_working_directory_stays_what_it_was(tmp_path: Path) -> None:
    before = Path.cwd()
    init_folder(tmp_path)
    assert Path.cwd() == before


@pytest.mark.parametrize(
    "path",
    [
        "mcp_settings.json",
        "examples/servers/library.py",
        ".xircuits/templates/agent_with_tools.xircuits",
    ],
)
def test_a_file_of_the_user_is_kept(tmp_path: Path, path: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("mine", encoding="utf-8")
    assert actions(init_folder(tmp_path))[path] == "kept"
    assert (tmp_path / path).read_text(encoding="utf-8") == "mine"


def test_copies_that_xircuits_made_become_a_link(copied: Path) -> None:
    """`xircuits init` copies installed libraries; a link follows every upgrade."""
    assert actions(init_folder(copied))[LIBRARY] == "linked"
    assert (copied / LIBRARY).is_symlink()
    assert list(copied.rglob("*.bak")) == []


@pytest.mark.parametrize("link", [True, False])
def test_a_stale_copy_is_replaced_and_the_old_one_kept_aside(copied: Path, link: bool) -> None:
    installed = a_component_file()
    stale = copied / LIBRARY / installed.name
    stale.write_text("# of an older version, or edited here\n", encoding="utf-8")
    report = init_folder(copied, link=link)
    assert actions(report)[f"{LIBRARY}/{installed.name}"] == "replaced"
    assert stale.read_bytes() == installed.read_bytes()
    backup = copied / "xai_components" / f"{installed.name}.bak"
    assert backup.read_text(encoding="utf-8").startswith("# of an older version")
    assert str(backup.relative_to(copied)) in "".join(step.note for step in report.steps)


def test_a_second_stale_copy_does_not_overwrite_the_first_backup(copied: Path) -> None:
    stale = copied / LIBRARY / a_component_file().name
    for text in ("first", "second"):
        stale.write_text(text, encoding="utf-8")
        init_folder(copied, link=False)
    kept = {file.read_text(encoding="utf-8") for file in copied.rglob("*.bak")}
    assert kept == {"first", "second"}


def test_a_folder_with_files_of_the_user_stays_a_folder(copied: Path) -> None:
    """A link would have to throw them out."""
    (copied / LIBRARY / "my_components.py").write_text("# mine\n", encoding="utf-8")
    (copied / LIBRARY / a_component_file().name).unlink()
    report = init_folder(copied)
    assert actions(report)[LIBRARY] == "copied"
    assert actions(report)[f"{LIBRARY}/my_components.py"] == "kept"
    assert (copied / LIBRARY / a_component_file().name).is_file()
    assert not init_folder(copied).changed


@pytest.mark.parametrize("target", ["gone", "elsewhere"])
def test_a_link_to_another_place_is_mended(ready: Path, target: str) -> None:
    """After the virtual environment was made anew, say."""
    (ready / "elsewhere").mkdir()
    (ready / LIBRARY).unlink()
    (ready / LIBRARY).symlink_to(ready / target)
    assert actions(init_folder(ready))[LIBRARY] == "linked"
    assert (ready / LIBRARY).samefile(installed_components_folder())
    assert (ready / "elsewhere").is_dir()


def test_a_link_becomes_copies_on_request(ready: Path) -> None:
    """For a folder that is handed to someone else."""
    assert actions(init_folder(ready, link=False))[LIBRARY] == "copied"
    assert not (ready / LIBRARY).is_symlink()
    assert a_component_file().is_file(), "the installed file must not be harmed"


def test_a_half_made_folder_is_completed(tmp_path: Path) -> None:
    """Our history may stand in .xircuits first; `xircuits init` itself refuses such a folder."""
    (tmp_path / ".xircuits").mkdir()
    (tmp_path / ".xircuits/history.db").write_text("ours", encoding="utf-8")
    (tmp_path / "xai_components").mkdir()
    init_folder(tmp_path)
    assert (tmp_path / ".xircuits/history.db").read_text(encoding="utf-8") == "ours"
    assert (tmp_path / ".xircuits/config.ini").is_file()
    assert (tmp_path / "xai_components/base.py").is_file()


def test_a_library_the_user_removed_does_not_come_back(ready: Path) -> None:
    shutil.rmtree(ready / "xai_components/xai_template")
    assert not init_folder(ready).changed
    assert not (ready / "xai_components/xai_template").exists()


@pytest.mark.parametrize("link", [True, False])
def test_the_palette_shows_our_components_in_the_folder(tmp_path: Path, link: bool) -> None:
    folder = init_folder(tmp_path / "lab", link=link).folder
    assert our_palette(folder) != {}


# What goes wrong


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(InitError, match="taken is a file"):
        init_folder(tmp_path / "taken")


@pytest.fixture
def forbidden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that this process may read and not write; as root, by being nobody for a while."""
    folder = tmp_path_factory.mktemp("forbidden")
    folder.chmod(0o555)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(STRANGER)
    yield folder
    if was_root:
        os.seteuid(0)
    folder.chmod(0o755)


def test_a_folder_that_may_not_be_written_is_an_error(forbidden: Path) -> None:
    with pytest.raises(InitError, match=r"Cannot write to .*: Permission denied"):
        init_folder(forbidden)


# The command


def test_the_command_says_what_it_did_and_what_to_do_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_status("init", "lab") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  linked      xai_components/xai_mcp_agent" in lines
    for command in ("  cd lab", "  xircuits start           (or: jupyter lab)"):
        assert command in lines
    own = [line for line in lines if str(tmp_path) not in line and "(to " not in line]
    assert max(len(line) for line in own) <= 80


def test_the_command_says_when_there_is_nothing_to_do(
    ready: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status("init", str(ready)) == 0
    assert "  Everything is up to date." in capsys.readouterr().out.splitlines()


def test_the_command_reports_as_json(ready: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status("init", str(ready), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["folder"] == str(ready)
    assert {"action": "up to date", "path": LIBRARY, "note": ""} in report["steps"]


def test_an_error_ends_the_command_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").touch()
    assert exit_status("init", str(tmp_path / "taken")) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert exit_status("init", str(tmp_path / "taken"), "--json") == 1
    assert "is a file" in json.loads(capsys.readouterr().out)["error"]


def exit_status(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as left:
        run(words)
    return left.value.code
