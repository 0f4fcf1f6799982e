"""The wires, and an environment that says nothing about models."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.agent.models.native import NativeWire
from tests.agent.models.wires import WIRES, ScriptedWire


@pytest.fixture(params=WIRES, ids=[x.provider for x in WIRES])
def wire(request: pytest.FixtureRequest) -> ScriptedWire:
    """Each wire over HTTP: what a test with it states holds for both APIs of OpenAI."""
    return request.param


@pytest.fixture(params=[*WIRES, NativeWire()], ids=lambda x: x.provider)
def any_wire(request: pytest.FixtureRequest) -> Any:
    """These, and a service that is asked natively: what holds for every model."""
    if isinstance(request.param, NativeWire):
        pytest.importorskip("pydantic_ai", reason="the extra `providers` is not installed")
    return request.param


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of this machine may change what is tested."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AWS_", "GOOGLE_", "AZURE_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
