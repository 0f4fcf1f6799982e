"""Virtual environments to install the package into: made in a second, without a download."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from xai_mcp_agent.core.util import COMPONENT_FILES, LIBRARY, installed_components_folder

from .warm_python import warm_interpreter_in

_COMMAND_SECONDS = 120
_BUILD_SECONDS = 120
# Xircuits finds its components by a path beside its own files, and installing ours adds to
# them: these are real copies. All else is linked.
_PACKAGES_TO_COPY = ("xircuits", "xai_components")
_OURS = "xai_mcp_agent"
# jsonschema works without it: its import takes a second in each process that imports Xircuits.
_SLOW = "rfc3987_syntax"
# Where Jupyter looks for what packages bring along.
_DATA = ("share/jupyter", "etc/jupyter")
# The parts of a checkout that its commands need.
_PARTS = (
    "xai_mcp_agent", "packaging", "examples", "tests", "tools", "docs", "Makefile",
    "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "mcp_settings.json.example",
)  # fmt: skip
_COMMAND = """\
#!{python}
import sys
from {module} import {name}
sys.exit({attribute}())
"""


# Variables of pytest and make for their children; another pytest or make must not see them.
_OF_THIS_RUN = ("PYTEST_", "TESTS_", "MAKE", "MFLAGS")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with everything this one has, except this package."""

    root: Path
    warm: Path | None = None
    """A folder with commands that have the libraries loaded, see `with_warm_commands`."""

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.root / "bin" / "python")

    def install(self, *arguments: str) -> None:
        """Install these packages with this environment's pip, offline and without dependencies."""
        offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--no-compile"]
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install"]
        self.run(Path.cwd(), *pip, *offline, *arguments)

    def variables(self, **more: str) -> dict[str, str]:
        """Return variables of a process in this environment, with a home of its own."""
        folders = [*([self.warm] if self.warm else []), self.root / "bin", os.environ["PATH"]]
        path = os.pathsep.join(map(str, folders))
        # A test run in there must not take itself for a part of the one that is going on.
        own = {name: x for name, x in os.environ.items() if not name.startswith(_OF_THIS_RUN)}
        return {**own, "PATH": path, "HOME": str(self.root), **more}

    def run(self, folder: Path, *command: str, **variables: str) -> str:
        """Run a command in `folder` and return its output; its failure fails the test."""
        process = subprocess.run(
            command, cwd=folder, env=self.variables(**variables), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_COMMAND_SECONDS,
        )  # fmt: skip
        assert process.returncode == 0, f"{command}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    def run_python(self, folder: Path, *arguments: str) -> str:
        """Run its interpreter in `folder` and return its output."""
        return self.run(folder, self.python, *arguments)

    @contextmanager
    def with_warm_commands(self, folder: Path) -> Iterator[Environment]:
        """Make `python` and `xai-mcp-agent` forks of a warm process for the length of the block."""
        with warm_interpreter_in(self.python, folder) as python:
            command = folder / "xai-mcp-agent"
            text = f'#!/bin/sh\nexec {python} {self.root}/bin/xai-mcp-agent "$@"\n'
            command.write_text(text, encoding="utf-8")
            command.chmod(0o755)
            yield replace(self, warm=folder)


def make_environment(root: Path) -> Environment:
    """Make an environment in `root`, with this one's packages linked into it."""
    venv.create(root, with_pip=False, symlinks=True)
    target = Path(sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        # No .pth files: one of them may put this package's own checkout on the path.
        if entry.suffix == ".pth" or entry.name.lower().startswith(_OURS) or entry.name == _SLOW:
            continue
        if entry.name in _PACKAGES_TO_COPY:
            # static: the lab's own scripts, large and not needed without a browser.
            ignore = shutil.ignore_patterns(_OURS, "static")
            shutil.copytree(entry, target / entry.name, ignore=ignore)
        else:
            (target / entry.name).symlink_to(entry)
    _link_data(root)
    _write_commands(root)
    return Environment(root)


def clone_checkout(checkout: Path, clone: Path) -> Environment:
    """Copy a checkout, and install it as editable into an environment in the copy's `.venv`."""
    clone.mkdir()
    for part in _PARTS:
        if (checkout / part).is_dir():
            # With what is compiled already: compiling all of it again takes seconds.
            shutil.copytree(checkout / part, clone / part)
        else:
            shutil.copyfile(checkout / part, clone / part)
    environment = make_environment(clone / ".venv")
    environment.install("--editable", str(clone))
    return environment


def build_package(source: Path, target: Path, *options: str) -> None:
    """Build what `options` say from the checkout or sdist in `source` into the folder `target`."""
    process = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(target), *options],
        cwd=source, capture_output=True, text=True, timeout=_BUILD_SECONDS,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr


def _link_data(root: Path) -> None:
    for data in _DATA:
        if (Path(sys.prefix) / data).is_dir():
            (root / data).parent.mkdir(exist_ok=True)
            (root / data).symlink_to(Path(sys.prefix) / data)


def _write_commands(root: Path) -> None:
    """Write every command of the linked packages, to be run by this environment's Python."""
    for command in entry_points(group="console_scripts"):
        if not command.module.startswith(_OURS):
            file = root / "bin" / command.name
            file.write_text(_command_text(root, command), encoding="utf-8")
            file.chmod(0o755)


def _command_text(root: Path, command: EntryPoint) -> str:
    name = command.attr.partition(".")[0]
    return _COMMAND.format(
        python=root / "bin" / "python", module=command.module, name=name, attribute=command.attr
    )


def refresh_component_copies() -> None:
    """Bring up to date the copies of our component files that an editable install leaves.

    Compiled workflows import them where Xircuits looks, and a node may have changed.
    """
    spec = importlib.util.find_spec("xai_components")
    ours = installed_components_folder()
    copies = Path(spec.origin).parent / LIBRARY if spec and spec.origin else ours
    if copies == ours or not copies.is_dir():
        return
    fresh = {x.name: x.read_bytes() for x in ours.glob(COMPONENT_FILES)}
    for copy in copies.glob(COMPONENT_FILES):
        if fresh.get(copy.name) != copy.read_bytes():
            copy.unlink()  # not written over: it may be a link into an installer's cache
    for name in fresh:
        if not (copies / name).exists():
            shutil.copy(ours / name, copies)
