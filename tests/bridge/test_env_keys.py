"""Keys of models in the `.env` beside the settings: used for their own service, and only then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.model_endpoint import model_endpoint, says
from xai_mcp_agent import Agent, Bridge, ModelError
from xai_mcp_agent.agent.models.choice import AgentModel

KEY = "sk-from-the-file-123456"


@pytest.fixture
def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"builtin": {"calc": {"tools": ["calculate"]}}}), encoding="utf-8")
    with Bridge.open(file, store="memory") as bridge:
        yield bridge


def test_the_key_of_the_file_is_sent_to_its_service_alone(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_endpoint(lambda _: says("Hello.")) as endpoint:
        elsewhere = AgentModel(provider="openai", name="any", base_url=endpoint.base_url)
        assert Agent(bridge, model=elsewhere).run("Hi").answer == "Hello."
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        assert Agent(bridge, model="openai:any").run("Hi").answer == "Hello."
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        Agent(bridge, model="openai:any").run("Hi")
    other, own, environment = (x.headers for x in endpoint.requests)
    assert KEY not in str(other)
    assert own["authorization"] == f"Bearer {KEY}"
    assert environment["authorization"] == "Bearer sk-of-the-environment"


def test_a_missing_key_names_the_file_first(bridge: Bridge, tmp_path: Path) -> None:
    (tmp_path / ".env").unlink()
    with (
        Bridge.open(tmp_path / "mcp_settings.json", store="memory") as bridge,
        pytest.raises(ModelError, match=r"Set OPENAI_API_KEY in the file \.env beside"),
    ):
        Agent(bridge, model="gpt-5-mini").run("Hi")
