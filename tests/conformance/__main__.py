"""`make conformance`: scenarios for clients meet the bridge, those for servers the gateway."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import page
from tests.support.fault_server import entry
from tests.support.processes import free_port, listening_process
from tests.support.warm_python import warm_interpreter
from xai_mcp_agent.settings.trust import TRUST_VARIABLE

from . import suite
from .suite import ROOT, SPECS, CannotRun, Run

COMMAND = "make conformance ARGS=--write"
SIDES = ("client", "server")
# Beside the server with what the scenarios expect stands one that hangs, which nobody may notice.
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


def main(arguments: list[str]) -> int:
    """Run what is asked for; 0 only if every scored scenario passed, 3 if nothing could be run."""
    options = _options(arguments)
    try:
        suite.install()
    except CannotRun as cause:
        print(f"Conformance: not run, {cause}", file=sys.stderr)
        return 3
    if options.install:
        return 0
    sides = [x for x in SIDES if x in options.names] or SIDES
    specs = [x for x in SPECS if x in options.names] or SPECS
    with warm_interpreter(), TemporaryDirectory() as folder, gateway(Path(folder)) as url:
        runs = [
            suite.run(side, spec, url, options.scenario)
            for side in sides
            for spec in specs
            if side == "client" or spec != suite.OLD_SPEC
        ]
    print(table(runs))
    if options.write:
        page.write(COMMAND, table(runs))
    return 0 if all(x.is_good for x in runs) else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=(*SIDES, *SPECS, []),
        help="a side or a version of the protocol; all if none is named",
    )  # fmt: skip
    parser.add_argument("--scenario", help="run only this one, such as tools_call")
    parser.add_argument("--install", action="store_true", help="only fetch what is needed")
    parser.add_argument("--write", action="store_true", help=f"write {page.PAGE.name}")
    options = parser.parse_args(arguments)
    if options.write and (options.names or options.scenario):
        parser.error("--write takes the results of all scenarios.")
    return options


@contextmanager
def gateway(folder: Path) -> Generator[str]:
    """Run the gateway in front of the fixture for the length of the block; yield its URL.

    One process serves both versions, under the names that the suite expects, without a prefix.
    """
    settings, port = folder / "mcp_settings.json", free_port()
    settings.write_text(json.dumps(_SETTINGS))
    command = str(Path(sys.executable).with_name("xai-mcp-agent"))
    # Without a token, because the suite cannot send one.
    options = ["--http", "--port", str(port), "--no-token", "--unprefixed"]
    trusting = ["env", f"{TRUST_VARIABLE}={settings}"]
    serve = [*trusting, command, "serve", *options, "--settings", str(settings)]
    with listening_process(serve, port):
        yield f"http://127.0.0.1:{port}/mcp"


def table(runs: list[Run]) -> str:
    """Return how many scenarios passed in each run, and which scored ones did not."""
    checks = sum(x.checks for x in runs)
    node = suite.NODE.replace("@", " ")
    rows: list[tuple[str, str]] = []
    for run in runs:
        name = f"{run.side}, {run.spec}"
        rows.append((f"required of a {name}", ", ".join([_score(run.scored), *run.missed])))
        if run.unscored:
            rows.append((f"not scored, of a {name}", _score(run.unscored)))
    head = f"With `{suite.SUITE}`, {node}, `mcp` {version('mcp')}: {checks} checks passed."
    return f"{head}\n\n{page.table(['set', 'passed'], rows)}"


def _score(outcomes: dict[str, bool]) -> str:
    return f"{sum(outcomes.values())} of {len(outcomes)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
