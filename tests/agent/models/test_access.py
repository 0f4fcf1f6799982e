"""Which address a key is for; Bedrock and Vertex AI."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.agent.models.wires import (
    ASK,
    CHAT,
    KEY,
    ask,
)
from tests.support.model_endpoint import (
    says,
)
from xai_mcp_agent import (
    ModelError,
    Secret,
)
from xai_mcp_agent.agent.models.base import (
    ModelRequest,
)
from xai_mcp_agent.agent.models.openai import OpenAIModel
from xai_mcp_agent.agent.models.openai_access import OpenAIProvider, is_home

pytestmark = pytest.mark.anyio

HOMES: list[tuple[OpenAIProvider, str, str, bool]] = [
    ("openai", "", "https://api.openai.com/v1", True),
    ("openai", "", "https://API.openai.com:443/v1/", True),
    ("openai", "", "https://eu.api.openai.com/v1", True),
    ("openai", "", "http://api.openai.com/v1", False),
    ("openai", "", "https://api.openai.com.example.com/v1", False),
    ("openai", "", "https://notapi.openai.com/v1", False),
    ("openai", "", "https://api.openai.com@example.com/v1", False),
    ("openai", "", "https://mine.openai.azure.com/openai/v1", False),
    ("openai", "https://a.example.com/v1", "https://a.example.com/v1/", True),
    ("openai", "https://a.example.com/v1", "https://user:pw@a.example.com/v1", True),
    ("openai", "https://a.example.com/v1", "http://a.example.com/v1", False),
    ("openai", "https://a.example.com/v1", "https://a.example.com:8443/v1", False),
    ("openai", "https://a.example.com/one/v1", "https://a.example.com/two/v1", False),
    ("openai", "https://a.example.com/v1", "https://api.openai.com/v1", False),
    ("openai", "https://eu.api.openai.com/v1", "https://api.openai.com/v1", True),
    ("openai_responses", "", "https://api.openai.com/v1", True),
    ("openai_responses", "", "https://example.com/v1", False),
    ("openai_responses", "https://a.example.com/v1", "https://a.example.com/v1/", True),
    ("bedrock", "", "https://bedrock-mantle.us-west-2.api.aws/v1", True),
    ("bedrock", "", "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", True),
    ("bedrock", "", "https://amazonaws.com.example.com/v1", False),
    ("vertexai", "", "https://europe-west4-aiplatform.googleapis.com/v1", True),
    ("vertexai", "", "https://example.com/v1", False),
]


@pytest.mark.parametrize(("provider", "beside", "url", "is_for_it"), HOMES)
def test_the_address_that_the_environments_key_is_for(
    provider: OpenAIProvider,
    beside: str,
    url: str,
    is_for_it: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OPENAI_BASE_URL", beside)
    assert is_home(provider, url) is is_for_it


def _missing(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Make these modules missing, also where the extras happen to be installed."""
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


async def test_bedrock_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    _missing(monkeypatch, "botocore", "botocore.auth", "botocore.session")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    with pytest.raises(ModelError, match=r"pip install 'xai-mcp-agent\[bedrock\]'"):
        await ask(OpenAIModel("openai.gpt-oss-20b", provider="bedrock"))


async def test_vertex_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    _missing(monkeypatch, "google", "google.auth", "google.auth.credentials")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "global")
    with pytest.raises(ModelError, match=r"pip install 'xai-mcp-agent\[vertex\]'"):
        await ask(OpenAIModel("gemini-pro", provider="vertexai"))


@pytest.mark.parametrize(("provider", "missing"), [("bedrock", "region"), ("vertexai", "project")])
async def test_a_provider_says_what_it_lacks(provider: Any, missing: str):
    with pytest.raises(ModelError, match=missing):
        await ask(OpenAIModel("m", provider=provider, api_key=Secret(KEY)))


@pytest.mark.parametrize("provider", ["bedrock", "vertexai"])
async def test_a_provider_can_be_asked_with_a_bearer_token(provider: Any):
    async with CHAT.model_of([says("ok")], "m", provider=provider) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].body["model"] == "m"


async def test_vertex_names_the_publisher_of_googles_models(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    subject = OpenAIModel("gemini-pro", provider="vertexai", api_key=Secret(KEY))
    client = await subject._connected()  # pyright: ignore[reportPrivateUsage]
    assert str(client.base_url) == (
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/mine/locations/europe-west4/"
        "endpoints/openapi/"
    )
    assert subject._asking(client, ModelRequest(ASK)).model == "google/gemini-pro"  # pyright: ignore[reportPrivateUsage]
    await subject.aclose()
