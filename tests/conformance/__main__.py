"""`make conformance`: the client scenarios with the bridge as the client, then the server scenarios
with the gateway as the server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from benchmarks import page
from tests.support.warm_python import warm_interpreter

from . import report, suite
from .server_half import run_servers, server_scenarios
from .suite import CannotRun, Outcome, Scenario

_AT_ONCE = 4  # scenarios have ports of their own, and wait for their programs half of the time


def main(arguments: list[str]) -> int:
    """Run what is asked for; 0 only if every scored scenario passed, 3 if nothing could be run."""
    options = _options(arguments)
    try:
        suite.install()
        if options.install:
            return 0
        scenarios = [*suite.client_scenarios(), *server_scenarios()]
        chosen = _chosen(scenarios, options.names)
    except CannotRun as cause:
        print(f"Conformance: not run, {cause}", file=sys.stderr)
        return 3
    with warm_interpreter():
        outcomes = [_print(outcome) for outcome in _run(chosen)]
    print(report.summary(outcomes))
    if options.write:
        page.write(report.COMMAND, report.tables(outcomes, version("mcp")))
    return 0 if outcomes and report.is_good(outcomes) else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    about = (
        "scenarios (tools_call), specs (2026-07-28), sets (extension) or sides (client, server); "
        "all if none is named"
    )
    parser.add_argument("names", nargs="*", help=about)
    parser.add_argument("--install", action="store_true", help="only fetch what is needed")
    parser.add_argument("--write", action="store_true", help=f"write {page.PAGE.name}")
    options = parser.parse_args(arguments)
    if options.write and options.names:
        parser.error("--write takes the results of all scenarios.")
    return options


def _chosen(scenarios: list[Scenario], names: list[str]) -> list[Scenario]:
    """Those with one of the names, at one of the specs, of one of the sets, of one of the sides."""
    fields = ("name", "spec", "kind", "side")
    values = {field: {getattr(x, field) for x in scenarios} for field in fields}
    strangers = set(names).difference(*values.values())
    if strangers:
        raise CannotRun(
            f"there is no {', '.join(sorted(strangers))}. See `python -m tests.conformance -h`."
        )
    chosen = {field: values[field].intersection(names) for field in fields}
    return [x for x in scenarios if all(not y or getattr(x, f) in y for f, y in chosen.items())]


def _run(scenarios: list[Scenario]) -> Iterator[Outcome]:
    servers = [x for x in scenarios if x.side == "server"]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        sets = threads.submit(lambda: list(run_servers(servers)))
        yield from threads.map(suite.run, (x for x in scenarios if x.side == "client"))
        yield from sets.result()


def _print(outcome: Outcome) -> Outcome:
    print(report.line(outcome), flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
