"""Virtual environments to install the package into: made in a second, without a download."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

_COMMAND_SECONDS = 120
# Xircuits finds its components by a path beside its own files, and installing ours adds to
# them: these are real copies. All else is linked.
_COPIED = ("xircuits", "xai_components")
_OURS = "xai_mcp_agent"


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with everything this one has, except this package."""

    root: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.root / "bin" / "python")

    def install(self, *arguments: str) -> None:
        """Install with this environment's pip: offline, and nothing but what is named."""
        offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install"]
        self.run(Path.cwd(), *pip, *offline, *arguments)

    def run(self, folder: Path, *command: str) -> str:
        """Run a command in `folder` and return what it printed; its failure fails the test."""
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "HOME": str(self.root)}
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_COMMAND_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_python(self, folder: Path, *arguments: str) -> str:
        """Run its interpreter in `folder` and return what it printed."""
        return self.run(folder, self.python, *arguments)


def make_environment(root: Path) -> Environment:
    """Make an environment in `root`, with this one's packages linked into it."""
    venv.create(root, with_pip=False, symlinks=True)
    target = Path(sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        # No .pth files: one of them may put this package's own checkout on the path.
        if entry.suffix == ".pth" or entry.name.startswith(_OURS):
            continue
        if entry.name in _COPIED:
            # static: the lab's own scripts, large and not needed without a browser.
            ignore = shutil.ignore_patterns(_OURS, "static", "__pycache__")
            shutil.copytree(entry, target / entry.name, ignore=ignore)
        else:
            (target / entry.name).symlink_to(entry)
    return Environment(root)
