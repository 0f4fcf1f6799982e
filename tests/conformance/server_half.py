"""The scenarios for servers: the suite is the client, and the gateway stands before one server.

That server is the fixture, over stdio. One gateway process serves both revisions of the protocol
under the names that the suite wants, without a prefix. Beside the fixture stands a server that
hangs, which nobody may notice.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.fault_server import entry
from tests.support.processes import free_port, listens, wait_until
from xai_mcp_agent.settings.trust import TRUST_VARIABLE

from .suite import KINDS, ROOT, SPECS, Outcome, Scenario, Set, ask, judged, program, run_command

# What the suite calls the reasons not to score a scenario.
_KIND_OF: dict[str, Set] = {
    "extension": "extension",
    "added-after-release": "later",
    "pending": "pending",
}
# A whole set takes 10 s on an idle machine.
_SET_SECONDS = 240
_STOP_SECONDS = 20.0
# At the end of a folder's name, after `server-` and the scenario.
_WHEN = re.compile(r"-\d{4}-\d\d-\d\dT.*$")
_COMMAND = Path(sys.executable).with_name("xai-mcp-agent")
_SETTINGS = {
    "mcpServers": {
        "fixture": {
            "command": sys.executable,
            "args": ["-m", "tests.conformance.fixture_server"],
            "cwd": str(ROOT),
            "sampling": "allow",
        },
        "hung": entry(hang=True),
    }
}


def server_scenarios() -> list[Scenario]:
    """Every scenario for servers of the frozen sets, and those that run beside them.

    Raises:
        CannotRun: the suite does not start.
    """
    scenarios = [x for spec in SPECS for x in listed(spec, ask("list", "--requirements", spec))]
    return sorted(scenarios, key=lambda x: KINDS.index(x.kind))


def listed(spec: str, listing: str) -> Iterator[Scenario]:
    """The scenarios for servers in the suite's listing of one frozen set."""
    servers = listing.partition("Server scenarios (test against a server):\n")[2]
    for name in re.findall(r"^  - (\S+)$", servers.partition("\n\n")[0], re.MULTILINE):
        yield Scenario(name, spec, "required", "server")
    reason = ""
    for line in listing.partition("never scored:\n")[2].splitlines():
        if title := re.fullmatch(r"  (\S+) \(\d+\):", line):
            reason = title[1]
        if scenario := re.fullmatch(r"    - (\S+) \[server\]", line):
            yield Scenario(scenario[1], spec, _KIND_OF[reason], "server")


def run_servers(scenarios: list[Scenario]) -> Iterator[Outcome]:
    """Run the sets that these scenarios belong to, each in one go, through one gateway."""
    if not scenarios:
        return
    with TemporaryDirectory() as folder, gateway(Path(folder)) as url:
        for spec, chosen in groupby(sorted(scenarios, key=lambda x: x.spec), lambda x: x.spec):
            yield from _run_set(url, spec, list(chosen), Path(folder))


@contextmanager
def gateway(folder: Path) -> Generator[str]:
    """A gateway process with the fixture behind it, for the length of the block; its URL."""
    settings, log = folder / "mcp_settings.json", folder / "gateway.log"
    settings.write_text(json.dumps(_SETTINGS))
    port = free_port()
    # Without a token, because the suite cannot send one.
    options = ["--http", "--port", str(port), "--no-token", "--unprefixed"]
    command = [str(_COMMAND), "serve", *options, "--settings", str(settings)]
    with log.open("w") as output:
        child = subprocess.Popen(
            command, cwd=folder, env={**os.environ, TRUST_VARIABLE: str(settings)},
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            wait_until(lambda: listens(port) or child.poll() is not None, "the gateway listens")
            if child.poll() is not None:
                raise RuntimeError(f"The gateway ended: {log.read_text(errors='replace')}")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            child.terminate()
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()


def _run_set(url: str, spec: str, scenarios: list[Scenario], folder: Path) -> Iterator[Outcome]:
    results = folder / spec
    command = [*program(), "server", "--url", url, "--requirements", spec, "-o", str(results)]
    try:
        words = run_command(command, _SET_SECONDS).stderr
    except subprocess.TimeoutExpired:
        words = f"the suite did not end within {_SET_SECONDS} s"
    words = (folder / "gateway.log").read_text(errors="replace") or words
    checks = {
        _WHEN.sub("", path.parent.name): json.loads(path.read_text())
        for path in results.glob("*/checks.json")
    }
    for x in scenarios:
        own = checks.get(f"server-{x.name}", [])
        yield judged(x, own, 0, 0.0, words if x.is_scored else "")
