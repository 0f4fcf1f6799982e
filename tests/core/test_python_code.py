"""Python code as trees, where several threads read it and garbage is collected meanwhile."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from xai_mcp_agent.core.util import expression_of, literal_in, module_of

_SOURCE = "\n".join(f"x{n} = [{n}, (f({n}), {{'a': {n}}})]" for n in range(200))
_THREADS, _TIMES = 4, 16


@pytest.fixture
def _garbage_lets_others_in() -> Iterator[None]:
    """Whatever is collected in the middle of parsing lets another thread go on."""

    def pause(_phase: str, _info: dict[str, Any]) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(pause)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(pause)


@pytest.mark.usefixtures("_garbage_lets_others_in")
def test_threads_that_read_code_at_once_are_in_nobodys_way():
    with ThreadPoolExecutor(_THREADS) as threads:
        trees = list(threads.map(module_of, [_SOURCE] * _TIMES))
    assert {len(x.body) for x in trees} == {200}


def test_a_literal_is_read_and_nothing_is_run():
    assert literal_in(" {'a': (1, 2.5, None)}") == {"a": (1, 2.5, None)}
    with pytest.raises(ValueError, match="malformed"):
        literal_in("__import__('os').getcwd()")
    with pytest.raises(SyntaxError):
        expression_of("1 +")
