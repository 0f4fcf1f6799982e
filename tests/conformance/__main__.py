"""`make conformance`: the client scenarios one after another, with the bridge as the client."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version

from . import report, suite
from .suite import CannotRun, Outcome, Scenario


def main(arguments: list[str]) -> int:
    """Run what is asked for; 0 only if every scored scenario passed, 3 if nothing could be run."""
    wanted = _parsed(arguments)
    try:
        suite.install()
        if wanted.install:
            return 0
        chosen = _chosen(suite.scenarios(), wanted.names)
    except CannotRun as cause:
        print(f"Conformance: not run, {cause}", file=sys.stderr)
        return 3
    outcomes = [_told(scenario) for scenario in chosen]
    print(report.summary(outcomes))
    if wanted.write:
        page = report.PAGE.read_text()
        report.PAGE.write_text(report.page_text(page, outcomes, version("mcp")))
    return 0 if outcomes and report.is_good(outcomes) else 1


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    about = "scenarios (tools_call), specs (2026-07-28) or sets (extension); all if none is named"
    parser.add_argument("names", nargs="*", help=about)
    parser.add_argument("--install", action="store_true", help="only fetch what is needed")
    parser.add_argument("--write", action="store_true", help=f"write {report.PAGE.name}")
    found = parser.parse_args(arguments)
    if found.write and found.names:
        parser.error("--write takes the results of all scenarios.")
    return found


def _chosen(scenarios: list[Scenario], names: list[str]) -> list[Scenario]:
    """Those with one of the names, at one of the specs, of one of the sets."""
    known = {
        "name": {x.name for x in scenarios},
        "spec": {x.spec for x in scenarios},
        "kind": {x.kind for x in scenarios},
    }
    strangers = [x for x in names if not any(x in values for values in known.values())]
    if strangers:
        raise CannotRun(
            f"there is no {', '.join(strangers)}. See `python -m tests.conformance -h`."
        )
    wanted = {field: values.intersection(names) for field, values in known.items()}
    return [
        x for x in scenarios
        if all(not values or getattr(x, field) in values for field, values in wanted.items())
    ]  # fmt: skip


def _told(scenario: Scenario) -> Outcome:
    outcome = suite.run(scenario)
    print(report.line(outcome), flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
