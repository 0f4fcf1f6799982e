"""The seam to the SDK: the code that `dispatcher.py` replaces has not changed since it was tried.

After a change of the SDK read the new source, adapt `dispatcher.py`, run the tests of this folder
and the conformance suite, then write the new digest here and the new range into pyproject.toml.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

SEAM: list[tuple[Callable[..., Any], str]] = [
    (Client._build_session, "c121794b8b253424"),
    (Client.__aenter__, "cc75e453654f388a"),
    (JSONRPCDispatcher.send_raw_request, "7ef07ab6bc42bab3"),
    (JSONRPCDispatcher.run, "524bf7f07b07b933"),
    (JSONRPCDispatcher._write, "5e802be03296835b"),
]


def digest_of(function: Callable[..., Any]) -> str:
    return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("function", "digest"), SEAM, ids=lambda x: getattr(x, "__qualname__", ""))
def test_the_sdk_is_unchanged_at_the_seam(function: Callable[..., Any], digest: str):
    assert digest_of(function) == digest
