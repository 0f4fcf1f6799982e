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
from ..rows import IS_SMALLEST
from .board import Board
from .environments import Environment, environment
from .lab import Lab
from .peers import OURS, PEERS, Peer
from .steps import BY_KEY, STEPS, Calls, Found, Step

_COMMAND = "make bench-peers"
_PASSES = 3
# What takes longer is measured once: it is no matter of chance any more.
_LONG_SECONDS = 6.0
# No step is begun again after this. The first pass is always done as a whole.
_AGAIN_SECONDS = 540.0


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for, with progress on the screen.

    1 if a peer could not be measured, or the bridge failed in a step.
    """
    asked = _asked(arguments)
    peers = [peer for peer in PEERS if not asked.peers or peer.name in asked.peers]
    steps = [BY_KEY[key] for key in asked.steps.split(",")] if asked.steps else list(STEPS)
    environments = dict(_environments(peers))
    board = Board(steps, environments)
    started = time.monotonic()
    with Lab({peer.name: x for peer, x in environments.items()}) as lab:
        measure(lab, board, steps, asked.passes)
    ours_failed = OURS in environments and any(board.cell(x, OURS).is_failed for x in board.rows)
    minutes = (time.monotonic() - started) / 60
    text = f"{page.machine()} The run took {minutes:.0f} minutes.\n\n{board.markdown()}"
    print(f"\n{text}")
    if not (asked.peers or asked.steps):
        page.write(_COMMAND, text)
    is_complete = len(environments) == len(peers) or IS_SMALLEST
    return 1 if ours_failed or not is_complete else 0


def measure(lab: Lab, board: Board, steps: Sequence[Step], passes: int) -> None:
    """Every step with every peer, pass by pass: what the machine does besides hurts all alike."""
    long: set[tuple[str, str]] = set()
    begun = time.monotonic()
    for number, step in itertools.product(range(passes), steps):
        if number and time.monotonic() - begun > _AGAIN_SECONDS:
            return
        for peer in _in_turn(board.peers, number):
            if (step.key, peer.name) in long or not _is_for(step, peer):
                continue
            lab.prepare(peer)
            started = time.monotonic()
            found = step.measure(lab, peer)
            taken = time.monotonic() - started
            if taken > _LONG_SECONDS:
                long.add((step.key, peer.name))
            board.add(peer, found)
            print(_line(f"{number + 1}/{passes} {peer.name}", taken, step, found), flush=True)


def _in_turn(peers: Sequence[Peer], number: int) -> list[Peer]:
    """Another one begins in each pass."""
    first = number % len(peers)
    return [*peers[first:], *peers[:first]]


def _is_for(step: Step, peer: Peer) -> bool:
    """Other doors of the bridge differ in their calls only."""
    return isinstance(step, Calls) or not peer.is_another_door


def _line(who: str, taken: float, step: Step, found: dict[str, Found]) -> str:
    shown = [
        " ".join([*(f"{x:.3g}" for x in found[row.key].samples), found[row.key].note]).strip()
        for row in step.rows
    ]
    return f"{who:<18} {taken:5.1f} s  {step.title}: {' | '.join(shown)}"


def _environments(peers: Sequence[Peer]) -> Iterator[tuple[Peer, Environment]]:
    """Yield the clients that can be measured; print why others cannot."""
    for peer in peers:
        print(f"==> {peer.name}: its environment", flush=True)
        try:
            yield peer, environment(peer)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"    left out: {error}", file=sys.stderr)


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"any of: {', '.join(names)}")
    parser.add_argument("--steps", default="", help=f"any of: {','.join(BY_KEY)}")
    parser.add_argument("--passes", type=int, default=_PASSES, help="how often each is measured")
    asked = parser.parse_args(arguments)
    for unknown in set(asked.peers) - set(names):
        parser.error(f"no peer {unknown!r}; there are: {', '.join(names)}")
    for unknown in {x for x in asked.steps.split(",") if x} - set(BY_KEY):
        parser.error(f"no step {unknown!r}; there are: {', '.join(BY_KEY)}")
    return asked


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nInterrupted; all that was started has been ended.", file=sys.stderr)
        sys.exit(130)
