"""The suite itself: installed once from npm, and run with its own frozen sets of scenarios."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.warm_python import warm_python

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "conformance"
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node@22.23.3"  # the suite needs 22; what a machine has may be older

OLD_SPEC = "2025-03-26"  # a client must still know its OAuth
SPECS = ("2025-11-25", "2026-07-28", OLD_SPEC)
_INSTALL_SECONDS = 300
_RUN_SECONDS = 600
_SCENARIO_SECONDS = 200  # all scenarios of a client's set begin at once
_SCENARIO = re.compile(r"^([✓✗-]) (\S+): (?:(\d+) passed)?", re.MULTILINE)
_NOT_SCORED = re.compile(r"^  [✓✗] (\S+) \(", re.MULTILINE)


class CannotRun(Exception):
    """Why the suite cannot be run on this machine at all."""


@dataclass(frozen=True)
class Run:
    """A run of one set. Each outcome says whether the scenario passed.

    `side` is the side under test: the bridge is the client, the gateway the server.
    """

    side: str
    spec: str
    checks: int = 0
    scored: dict[str, bool] = field(default_factory=dict[str, bool])
    unscored: dict[str, bool] = field(default_factory=dict[str, bool])

    @property
    def missed(self) -> list[str]:
        """The scored scenarios that did not pass."""
        return [name for name, has_passed in self.scored.items() if not has_passed]

    @property
    def is_good(self) -> bool:
        """Whether there are scored scenarios, and all of them passed."""
        return bool(self.scored) and not self.missed


def install() -> None:
    """Install Node.js 22 and the suite into the cache, unless they are there.

    Raises:
        CannotRun: there is no npm, or it could not.
    """
    versions = f"{SUITE} {NODE}"
    stamp = FOLDER / ".installed"
    if stamp.is_file() and stamp.read_text() == versions:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise CannotRun("there is no npm here. Install Node.js, which brings it.")
    print(f"==> Installing {SUITE} and {NODE} (once)", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    options = ["--prefix", str(FOLDER), "--silent", "--no-audit", "--no-fund", "--no-save"]
    try:
        subprocess.run(
            [npm, "install", *options, SUITE, NODE], stdin=subprocess.DEVNULL, check=True,
            timeout=_INSTALL_SECONDS,
        )  # fmt: skip
    except subprocess.SubprocessError as cause:
        raise CannotRun(f"npm could not install it: {cause}") from cause
    stamp.write_text(versions)


def run(side: str, spec: str, url: str, scenario: str | None = None) -> Run:
    """Run the scenarios for one side that this version requires, or one of them."""
    modules = FOLDER / "node_modules"
    program = modules / SUITE.rpartition("@")[0] / "dist" / "index.js"
    target = ["--url", url]
    if side == "client":
        driver = [warm_python(), "-m", "tests.conformance.driver"]
        target = ["--command", shlex.join(driver)]  # the suite splits it, and starts it in a shell
    chosen = ["--suite", "backcompat"] if spec == OLD_SPEC else ["--requirements", spec]
    if scenario:
        chosen = ["--scenario", scenario, "--spec-version", spec]
    limit = ["--timeout", str(_SCENARIO_SECONDS * 1000)]
    command = [modules / ".bin" / "node", program, side, *target, *chosen, *limit]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", timeout=_RUN_SECONDS,
    )  # fmt: skip
    outcome = read(side, spec, done.stdout)
    if scenario:
        outcome = Run(side, spec, scored={scenario: done.returncode == 0})
    if scenario or not outcome.is_good:
        print(done.stdout, done.stderr)
    return outcome


def read(side: str, spec: str, output: str) -> Run:
    """Return the outcomes in the summary that the suite prints.

    The suite counts a scenario that checked nothing as passed; it was not shown to work.
    """
    summary = output.rpartition("SUMMARY ===")[2]
    lines = [(mark, name, int(count or 0)) for mark, name, count in _SCENARIO.findall(summary)]
    outcomes = {name: mark == "✓" and count > 0 for mark, name, count in lines}
    unscored = {x: outcomes.pop(x) for x in _NOT_SCORED.findall(summary)}
    return Run(side, spec, sum(count for _, _, count in lines), outcomes, unscored)
