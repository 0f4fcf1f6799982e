"""The wheel is complete, and an installed package works in folders of every state.

Who decided it: design.md section 2, Installing. The states are those a real folder can be in:
never initialised, initialised before the package came, initialised after it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent.cli.init import FIRST_EXAMPLE
from xai_mcp_agent.drawing.components import our_components

from .support.environments import Environment, build_package
from .support.palette import our_palette

ROOT = Path(__file__).parents[1]
LIBRARY = "xai_components/xai_mcp_agent"

COMPONENT_FILES = {file.name for file in (ROOT / "xai_mcp_agent").glob("*_components.py")}

# Imports every component file as a compiled workflow does, and makes one node of each class.
SCRIPT = """
import importlib
from xai_components.base import Component

made = []
for name in {modules}:
    module = importlib.import_module("xai_components.xai_mcp_agent." + name)
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            made.append(type(value()).__name__)
print("made", len(made), "nodes")
"""


OUTPUT = f"made {len(our_components())} nodes\n"
# As if the lab, and what comes with it, were not installed.
WITHOUT_LAB = """
import sys
from importlib.machinery import PathFinder

LAB = ("xircuits", "jupyter", "IPython", "ipy", "traitlets", "tornado", "nb", "notebook", "zmq")

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.startswith(LAB) else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_the_package_its_nodes_and_starter_files_only(
    wheel: Path,
):
    """Component files are only where Xircuits looks."""
    names = names_in(wheel)
    more = {"__init__.py", "pyproject.toml", "README.md"}
    shipped = {f"{LIBRARY}/{name}" for name in COMPONENT_FILES | more}
    assert {name for name in names if name.startswith("xai_components/")} == shipped
    assert {name for name in names if name.endswith("_components.py")} <= shipped
    package = ROOT / "xai_mcp_agent"
    engine = [*package.rglob("*.py"), *package.rglob("*.pyi"), package / "admin" / "page.html"]
    files = {x.relative_to(ROOT).as_posix() for x in engine if x.name not in COMPONENT_FILES}
    assert files <= names
    starter = "xai_mcp_agent/starter"
    examples = [file for file in (ROOT / "examples").rglob("*.*") if file.suffix != ".pyc"]
    expected = {f"{starter}/{file.relative_to(ROOT).as_posix()}" for file in examples}
    assert expected, "there are no examples"
    assert {*expected, f"{starter}/mcp_settings.json.example"} <= names
    tops = {name.partition("/")[0] for name in names}
    info = next(top for top in tops if top.endswith(".dist-info"))
    assert tops == {"xai_mcp_agent", "xai_components", info, info.replace(".dist-info", ".data")}
    assert [name for name in names if "/test" in name or "__pycache__" in name] == []


def test_the_files_that_the_lab_loads_are_in_the_wheel(wheel: Path):
    """Without them no answer scrolls into view. Both versions are those of the package."""
    folder = ROOT / "packaging/labextension"
    files = [x.relative_to(folder).as_posix() for x in folder.rglob("*.*")]
    place = "data/share/jupyter/labextensions/xai-mcp-agent"
    shipped = {x.partition(f"{place}/")[2] for x in names_in(wheel) if place in x}
    assert shipped == set(files)
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == project()["version"]
    assert f"static/{Path(package['jupyterlab']['_build']['load']).name}" in shipped
    config = "data/etc/jupyter/jupyter_server_config.d/xai_mcp_agent.json"
    assert [x for x in names_in(wheel) if x.endswith(config)]


def test_the_wheel_from_the_sdist_is_the_same(built: Path, wheel: Path, tmp_path: Path):
    subprocess.run(["tar", "-xf", next(built.glob("*.tar.gz"))], cwd=tmp_path, check=True)
    build_package(next(tmp_path.glob("xai_mcp_agent-*/")), tmp_path / "out", "--target", "wheel")
    again = next((tmp_path / "out").glob("*.whl"))
    assert again.read_bytes() == wheel.read_bytes()


def prepare(environment: Environment, folder: Path) -> str:
    return environment.run(folder, "xai-mcp-agent", "init")


def assert_nodes_are_made(environment: Environment, folder: Path, file: str = "flow.py") -> None:
    """A script in the folder imports the component files and makes each node."""
    write_script(folder / file)
    assert environment.run_python(folder, file) == OUTPUT


def write_script(file: Path) -> None:
    modules = sorted(name.removesuffix(".py") for name in COMPONENT_FILES)
    file.write_text(SCRIPT.format(modules=modules), encoding="utf-8")


@pytest.fixture(scope="module")
def prepared(installed: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that was never initialised before."""
    folder = tmp_path_factory.mktemp("prepared")
    assert "linked      xai_components/xai_mcp_agent" in prepare(installed, folder)
    return folder


def test_a_folder_never_initialised_works_after_init(installed: Environment, prepared: Path):
    """The palette is in the order of the files' lines; scripts run from anywhere, and by `%run`."""
    nodes = list(our_palette(prepared, installed.python))
    agents = [x for x in nodes if x.startswith("Agent")]
    assert set(nodes) == set(our_components())
    assert agents == [x for x in our_components() if x.startswith("Agent")]
    assert agents[:4] == ["AgentUseMCPTools", "AgentMakeToolbelt", "AgentInit", "AgentRun"]
    for script in ("flow.py", "examples/flow.py"):
        assert_nodes_are_made(installed, prepared, script)
    shell = "from IPython import InteractiveShell as S; S.instance().run_line_magic('run', '{}')"
    assert OUTPUT in installed.run_python(prepared, "-c", shell.format("examples/flow.py"))


def test_the_examples_need_no_adopting(installed: Environment, prepared: Path):
    """They name the source files of nodes, which an installed package has elsewhere."""
    files = sorted(str(x) for x in (prepared / "examples").glob("*.xircuits"))
    printed = installed.run(prepared, "xai-mcp-agent", "adopt", *files, "--json")
    assert {x["status"] for x in json.loads(printed)["files"]} == {"nothing to do"}
    assert list((prepared / "examples").glob("*_adopted*")) == []


def test_the_menu_of_the_category_opens_readme_and_first_example(
    installed: Environment, prepared: Path
):
    """The menu reads Xircuits' own list of libraries."""
    ask = "from xircuits.library import save_component_library_config as s; s()"
    installed.run_python(prepared, "-c", ask)
    listed = prepared / ".xircuits/component_library_config.json"
    libraries = json.loads(listed.read_text(encoding="utf-8"))["libraries"]
    ours = next(x for x in libraries if x["library_id"] == "MCP_AGENT")
    place = prepared / ours["local_path"]
    assert (place / ours["readme"]).is_file()
    # The lab puts the path together before it looks: the link to our files is not followed.
    example = os.path.normpath(place / ours["default_example_path"])
    assert example == str(prepared / FIRST_EXAMPLE)
    assert Path(example).is_file()
    about = project()
    assert (ours["version"], ours["description"]) == (about["version"], about["description"])


def test_a_folder_initialised_before_the_install_works_after_init(
    installed: Environment, initialised_before: Path
):
    """Its own `xai_components` hides the installed one."""
    assert not (initialised_before / LIBRARY).exists()
    assert "linked      xai_components/xai_mcp_agent" in prepare(installed, initialised_before)
    assert_nodes_are_made(installed, initialised_before)


def test_a_folder_that_xircuits_initialised_with_our_files_gets_a_link(
    installed: Environment, tmp_path: Path
):
    installed.run(tmp_path, "python", "-m", "xircuits.start_xircuits", "init")
    assert (tmp_path / LIBRARY / "agent_components.py").is_file()
    assert "linked      xai_components/xai_mcp_agent" in prepare(installed, tmp_path)
    assert "Everything is up to date." in prepare(installed, tmp_path)


def test_scripts_and_commands_work_without_the_lab(
    installed: Environment, prepared: Path, tmp_path: Path
):
    """Users who only run compiled scripts need neither JupyterLab nor Xircuits."""
    installed.run(prepared, "xircuits", "compile", FIRST_EXAMPLE, "quickstart.py")
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_LAB, encoding="utf-8")
    around = {"PYTHONPATH": str(tmp_path), "XAI_MCP_TRUST": "1"}
    assert "Moby-Dick" in installed.run(prepared, installed.python, "quickstart.py", **around)
    command = str(installed.root / "bin/xai-mcp-agent")
    report = installed.run(tmp_path, command, "init", "another", **around)
    assert 'missing     the canvas\n              (pip install "xai-mcp-agent[lab]"' in report


def test_an_editable_install_works_after_init(clone: Environment, tmp_path: Path):
    prepare(clone, tmp_path)
    assert (tmp_path / LIBRARY).samefile(clone.root.parent / "xai_mcp_agent")
    assert_nodes_are_made(clone, tmp_path)
