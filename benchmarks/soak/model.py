"""The model of the soak, in its own process: it calls tools at random, a few at a time.

`python -m benchmarks.soak.model SEED` prints its address, and ends with its stdin. It speaks the
real protocol of models, so that the real agent loop is its client.
"""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any

from tests.support.model_endpoint import Step, calls, model_endpoint, says

_TURNS = 4  # of tool calls, then it answers
_MAX_CALLS = 4  # in a reply
# How often each kind of tool is called. Slow calls, and those that end a server, are rarer.
_WEIGHTS = {"echo": 60, "slow": 10, "large": 6, "noisy": 2, "change": 3, "fails": 4, "refuses": 4,
            "garbles": 3, "hangs": 1, "freezes": 1, "drops": 2, "cuts": 2, "dies": 3}  # fmt: skip
_OTHER_WEIGHT = 2
_WRONG = 0.02  # share of the calls with wrong arguments or an unknown tool


class RandomModel:
    """Gives the next step for a request."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._number = itertools.count(1)

    def step(self, body: dict[str, Any]) -> Step:
        """Call tools a few times, then answer."""
        turns = sum(1 for x in body["messages"] if x.get("tool_calls"))
        names = [x["function"]["name"] for x in body.get("tools", ())]
        if turns >= _TURNS or not names:
            return says("That was all.")
        count = self._random.randint(1, _MAX_CALLS)
        weights = [_WEIGHTS.get(x.rpartition("_")[2], _OTHER_WEIGHT) for x in names]
        return calls(*(self._call(x) for x in self._random.choices(names, weights, k=count)))

    def _call(self, name: str) -> tuple[str, dict[str, Any]]:
        if self._random.random() < _WRONG:
            return self._random.choice([(name, {"text": 5}), ("nobody_has_this", {})])
        arguments: dict[str, Any] = {"text": f"call {next(self._number)}"}
        if name.endswith("_slow"):
            arguments["seconds"] = round(self._random.uniform(0.01, 0.5), 2)
        if name.endswith("_large"):
            arguments["kilobytes"] = self._random.choice([1, 20, 200, 1500])
        return name, arguments


def main() -> None:
    """Serve until stdin ends."""
    with model_endpoint(RandomModel(sys.argv[1]).step) as endpoint:
        endpoint.requests = _EmptyList()
        print(endpoint.base_url, flush=True)
        sys.stdin.read()


class _EmptyList(list[Any]):
    """A list that stays empty: all requests of a soak would fill the memory."""

    def append(self, _: Any) -> None:
        pass


if __name__ == "__main__":
    main()
