"""Measure the bridge and its peers in one run: `python -m benchmarks.peers [PEER...]`.

A whole run writes its tables into `docs/measured.md`; a run of some peers or steps only
prints them.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from .. import page
from ..measuring import name_among, names_among
from ..rows import IS_SMALLEST
from .board import Board
from .environments import Environment, environment
from .lab import Lab
from .peers import OURS, PEERS, Peer
from .steps import BY_KEY, STEPS, Measurement, Step

_COMMAND = "make bench-peers"
_PASSES = 3
# A step that takes longer is measured once: chance matters little then.
_LONG_SECONDS = 6.0
# No step is repeated after this; the first pass is always complete.
_REPEAT_SECONDS = 540.0


def main(arguments: Sequence[str]) -> int:
    """Measure the peers and steps that are named, or all, with progress on the screen.

    1 if a peer could not be measured, or the bridge failed in a step.
    """
    options = _parser().parse_args(arguments)
    peers = [peer for peer in PEERS if not options.peers or peer.name in options.peers]
    steps = [BY_KEY[key] for key in options.steps] or list(STEPS)
    environments = dict(_environments(peers))
    board = Board(steps, environments)
    start = time.monotonic()
    with Lab({peer.name: x for peer, x in environments.items()}) as lab:
        measure(lab, board, steps, options.passes)
    ours_failed = OURS in environments and any(board.cell(x, OURS).is_failed for x in board.rows)
    minutes = (time.monotonic() - start) / 60
    text = f"{page.machine()} The run took {minutes:.0f} minutes.\n\n{board.markdown()}"
    print(f"\n{text}")
    if not (options.peers or options.steps):
        page.write(_COMMAND, text)
    is_complete = len(environments) == len(peers) or IS_SMALLEST
    return 1 if ours_failed or not is_complete else 0


def measure(lab: Lab, board: Board, steps: Sequence[Step], passes: int) -> None:
    """Every step with every peer, pass by pass: other work of the machine slows all alike."""
    long: set[tuple[Step, Peer]] = set()
    start = time.monotonic()
    for number, step in itertools.product(range(passes), steps):
        if number and time.monotonic() - start > _REPEAT_SECONDS:
            return
        first = number % len(board.peers)  # another one in each pass
        for peer in (*board.peers[first:], *board.peers[:first]):
            is_other_door = peer.is_another_door and not step.for_every_door
            if (step, peer) in long or is_other_door:
                continue
            lab.prepare(peer)
            step_start = time.monotonic()
            measurements = step.measure(lab, peer)
            seconds = time.monotonic() - step_start
            if seconds > _LONG_SECONDS:
                long.add((step, peer))
            board.add(peer, measurements)
            results = " | ".join(_text(measurements[row.key]) for row in step.rows)
            who = f"{number + 1}/{passes} {peer.name}"
            print(f"{who:<18} {seconds:5.1f} s  {step.title}: {results}", flush=True)


def _text(measurement: Measurement) -> str:
    return " ".join([*(f"{x:.3g}" for x in measurement.samples), measurement.note]).strip()


def _environments(peers: Sequence[Peer]) -> Iterator[tuple[Peer, Environment]]:
    """Yield the peers with their environments; print why others are left out."""
    for peer in peers:
        print(f"==> {peer.name}: its environment", flush=True)
        try:
            yield peer, environment(peer)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"    left out: {error}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    about = f"any of: {', '.join(names)}"
    parser.add_argument("peers", nargs="*", metavar="PEER", type=name_among(names), help=about)
    about = f"any of: {','.join(BY_KEY)}"
    parser.add_argument("--steps", type=names_among(BY_KEY), default=[], help=about)
    parser.add_argument("--passes", type=int, default=_PASSES, help="measurements of each step")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nInterrupted; all processes of the run have ended.", file=sys.stderr)
        sys.exit(130)
