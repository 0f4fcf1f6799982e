"""Run the soak, print its progress, and write its figures into `docs/measured.md`."""

from __future__ import annotations

import argparse
import secrets
import sys

from .. import page
from . import report
from .soak import Outcome, Plan, soak

_COMMAND = "make soak"
_MAX_FAILURES = 20


def main(arguments: list[str]) -> int:
    """Run it; 1 if it failed."""
    options = _parser().parse_args(arguments)
    plan = Plan(options.minutes * 60, options.servers, options.agents, options.seed)
    print(f"Seed {plan.seed}: {plan.servers} servers, {plan.agents} agents.", flush=True)
    screen = sys.stdout

    def show(outcome: Outcome) -> None:
        print(report.progress(outcome), file=screen, flush=True)

    outcome = soak(plan, show)
    table = report.table(outcome)
    print(table)
    for failure in outcome.failures[:_MAX_FAILURES]:
        print(f"FAILED: {failure}")
    if not options.print_only:
        page.write(_COMMAND, f"{page.machine()}\n\n{table}")
    return 1 if outcome.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--seed", default=secrets.token_hex(3), help="to repeat a run")
    parser.add_argument("--print-only", action="store_true", help="do not write the page")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
