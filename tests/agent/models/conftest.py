"""The wires, and an environment that says nothing about models."""

from __future__ import annotations

import os

import pytest

from tests.agent.models.wires import WIRES, ScriptedWire


@pytest.fixture(params=WIRES, ids=[x.provider for x in WIRES])
def wire(request: pytest.FixtureRequest) -> ScriptedWire:
    """Each wire: what a test with it states holds for all."""
    return request.param


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of this machine may change what is tested."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
