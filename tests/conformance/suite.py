"""The suite itself: installed once from npm, asked what it has, and run scenario by scenario."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from tests.support.warm_python import warm_python

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "conformance"
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node@22.23.3"  # the suite needs 22; what a machine has may be older

# Whose frozen sets are run.
SPECS = ("2025-11-25", "2026-07-28")
OLD_SPEC = "2025-03-26"
KINDS = ("required", "later", "back-compat", "pending", "extension")
_STATUSES = ("SUCCESS", "FAILURE", "WARNING")
# The suite splits it at blanks and hands it to a shell.
_DRIVER = ["-m", "tests.conformance.driver"]

_INSTALL_SECONDS = 300
_ASK_SECONDS = 30
# What the driver may take; the suite starts and ends its own server around it.
_DRIVER_SECONDS = 60
_SCENARIO_SECONDS = _DRIVER_SECONDS + 20
# The end of what the driver wrote: its error.
_SHOWN_CHARS = 2000
_SHOWN_LINES = 3

Set: TypeAlias = Literal["required", "back-compat", "later", "pending", "extension"]
"""required: of a frozen set. back-compat: for the OAuth of 2025-03-26. later: added to a set after
its release. pending: the suite's own example does not pass it; it and extension are reported and
never scored."""
Side: TypeAlias = Literal["client", "server"]


class CannotRun(Exception):
    """Why the suite cannot be run on this machine at all."""


@dataclass(frozen=True)
class Scenario:
    """One scenario at one version of the protocol; an extension for clients belongs to none.

    `side` is the side under test: the bridge is the client, the gateway the server.
    """

    name: str
    spec: str
    kind: Set
    side: Side = "client"

    @property
    def is_scored(self) -> bool:
        """Whether a failure of it fails the run."""
        return self.kind not in ("pending", "extension")


@dataclass(frozen=True)
class Outcome:
    """What came of one scenario. `words` say what failed, or why nothing was checked."""

    scenario: Scenario
    verdict: Literal["passed", "failed", "skipped"]
    passed: int = 0
    failed: int = 0
    warnings: int = 0
    seconds: float = 0.0
    words: str = ""


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
        done = run_command([npm, "install", *options, SUITE, NODE], _INSTALL_SECONDS)
    except subprocess.TimeoutExpired as cause:
        raise CannotRun(f"npm was not done within {_INSTALL_SECONDS} s.") from cause
    if done.returncode:
        raise CannotRun(f"npm could not install it: {done.stderr.strip()[-_SHOWN_CHARS:]}")
    stamp.write_text(versions)


def client_scenarios() -> list[Scenario]:
    """Every scenario for clients that the suite has, as its own lists say.

    Raises:
        CannotRun: the suite does not start.
    """
    scenarios = [Scenario(name, spec, "required") for spec in SPECS for name in _required(spec)]
    for name, versions in _offered().items():
        if versions == ["extension"]:
            scenarios.append(Scenario(name, "", "extension"))
        elif versions == [OLD_SPEC]:
            scenarios.append(Scenario(name, OLD_SPEC, "back-compat"))
        else:
            required = {(x.name, x.spec) for x in scenarios}
            later = [x for x in versions if x in SPECS and (name, x) not in required]
            scenarios += [Scenario(name, spec, "later") for spec in later]
    return sorted(scenarios, key=lambda x: (KINDS.index(x.kind), x.spec))


def run(scenario: Scenario) -> Outcome:
    """Run one scenario with the bridge as its client."""
    # At its version; at none an extension would be skipped.
    spec = ["--spec-version", scenario.spec] if scenario.spec else []
    limit = ["--timeout", str(_DRIVER_SECONDS * 1000)]
    driver = shlex.join([warm_python(), *_DRIVER])
    with TemporaryDirectory() as folder:
        command = ["client", "--command", driver, "--scenario", scenario.name, *spec, *limit]
        started = time.monotonic()
        try:
            done = run_command([*program(), *command, "-o", folder], _SCENARIO_SECONDS)
        except subprocess.TimeoutExpired:
            words = f"the suite did not end within {_SCENARIO_SECONDS} s"
            return Outcome(scenario, "failed", seconds=time.monotonic() - started, words=words)
        seconds = time.monotonic() - started
        checks = _checks_in(Path(folder))
        driver = _text_in(Path(folder), "stderr.txt")
    return judged(scenario, checks, done.returncode, seconds, driver or done.stderr + done.stdout)


def judged(
    scenario: Scenario, checks: list[dict[str, Any]], code: int, seconds: float, output: str
) -> Outcome:
    """The outcome of checks. One that checked nothing is skipped, whatever it ended with."""
    by_status = {status: [x for x in checks if x["status"] == status] for status in _STATUSES}
    passed, failed, warnings = (len(by_status[x]) for x in _STATUSES)
    if not passed + failed:
        words = _why_skipped(checks, output)
        return Outcome(scenario, "skipped", seconds=seconds, words=words)
    wrong = [*by_status["FAILURE"], *by_status["WARNING"]]
    words = [f"{x['id']}: {x.get('errorMessage') or x['description']}" for x in wrong]
    verdict = "failed" if code or failed else "passed"
    if verdict == "failed":
        words += output.strip()[-_SHOWN_CHARS:].splitlines()[-_SHOWN_LINES:]
    return Outcome(scenario, verdict, passed, failed, warnings, seconds, "\n".join(words))


def _why_skipped(checks: list[dict[str, Any]], output: str) -> str:
    if checks:
        return "not one of its checks applied to what the client did"
    reason = next((x for x in output.splitlines() if "SKIPPED" in x), "")
    return reason or f"nothing was checked: {output.strip()[-_SHOWN_CHARS:]}"


def _required(spec: str) -> list[str]:
    """The scenarios for clients of one frozen set."""
    section = _clients_of(ask("list", "--requirements", spec))
    return re.findall(r"^  - (\S+)$", section.partition("\n\n")[0], re.MULTILINE)


def _offered() -> dict[str, list[str]]:
    """Every scenario for clients, with the versions it can be run at."""
    offers = re.findall(r"^  - (\S+) \[(.+)\]$", _clients_of(ask("list")), re.MULTILINE)
    return {name: versions.split(",") for name, versions in offers}


def _clients_of(listed: str) -> str:
    section = listed.partition("Client scenarios (test against a client):\n")[2]
    return section.partition("\n\n")[0]


def program() -> list[str]:
    """The command that starts the suite."""
    modules = FOLDER / "node_modules"
    program = modules / SUITE.rpartition("@")[0] / "dist" / "index.js"
    return [str(modules / ".bin" / "node"), str(program)]


def ask(*arguments: str) -> str:
    """What the suite writes, asked for with these arguments.

    Raises:
        CannotRun: the suite does not start.
    """
    done = run_command([*program(), *arguments], _ASK_SECONDS)
    if done.returncode:
        raise CannotRun(f"the suite does not start: {done.stderr.strip()[-_SHOWN_CHARS:]}")
    return done.stdout


def run_command(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command; when it is not done in time, it is ended with all that it started."""
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=seconds)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def _checks_in(folder: Path) -> list[dict[str, Any]]:
    text = _text_in(folder, "checks.json")
    return json.loads(text) if text else []


def _text_in(folder: Path, name: str) -> str:
    return "".join(path.read_text(errors="replace") for path in folder.glob(f"*/**/{name}"))
