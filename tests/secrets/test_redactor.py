"""A run never prints secrets, at any level of detail (design.md section 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.fault_server import entry
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.screens import STARTED, Paper
from xai_mcp_agent.agent.events import TextArrived
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt
from xai_mcp_agent.secrets.redactor import Redactor
from xai_mcp_agent.secrets.secrets import Secrets

PASSWORD, KEY, FROM_ENVIRONMENT = "correct-horse-battery", "my-own-model-key", "staple-of-the-shell"
TOKEN = "sk-" + "a1b2c3d4" * 3
ALL = (PASSWORD, KEY, FROM_ENVIRONMENT, TOKEN)


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write settings with the server `it`, which has a password in its environment."""
    file = tmp_path / "mcp_settings.json"
    server = {**entry(), "env": {"IT_PASSWORD": PASSWORD}}
    file.write_text(json.dumps({"mcpServers": {"it": server}}), encoding="utf-8")
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(file))
    monkeypatch.setenv("SOME_API_KEY", FROM_ENVIRONMENT)


@pytest.mark.parametrize(
    ("show", "fails"), [("quiet", False), ("normal", True), ("verbose", False), ("verbose", True)]
)
def test_a_run_is_shown_without_secrets(capsys: pytest.CaptureFixture[str], show: str, fails: bool):
    ctx: dict[str, Any] = {}
    secrets = " and ".join(ALL)

    def leak(_ctx: Any, text: str, _: Any) -> str:
        if fails:
            raise ValueError(secrets)
        return json.dumps({"it": text}) + "\n" + secrets

    define_tool(ctx, None, "leak", f"Never say {PASSWORD}.", leak)
    belt = make_toolbelt(ctx, None)
    replies = [
        calls(("leak", {"input": secrets}), text=f"I say {secrets}."),
        says(f"It was {secrets}."),
    ]
    with model_endpoint(replies) as endpoint:
        model = {"provider": "openai", "model": "m", "base_url": endpoint.base_url}
        prompt = f"The password is {PASSWORD}."
        init_agent(ctx, "it", toolbelt_spec=belt, api_key=KEY, system_prompt=prompt, **model)
        run_agent(ctx, "it", "Go!", outcome=CanvasRun(), show=show)
    output = capsys.readouterr().out
    assert ("***" in output) is (fails or show != "quiet")
    for secret in ALL:
        assert secret not in output


def test_a_secret_that_is_streamed_in_pieces_is_hidden():
    paper = Paper()
    with paper.console() as console:
        console.hide(Redactor([Secrets([PASSWORD])]))
        console.show(STARTED)
        for piece in ("It is cor", "rect-horse", "-battery", ", I think."):
            console.show(TextArrived(piece))
    assert paper.lines[-1].endswith("It is ***, I think.")


def test_a_long_value_is_searched_only_up_to_the_limit():
    """The search blocks the event loop. No secret is cut in half."""
    read_items = list[int]()

    class Long(list[str]):
        def __iter__(self) -> Iterator[str]:
            for n in range(50_000):
                read_items.append(n)
                yield f"{'x' * (n % 200)}a secret that is known"

    text = Redactor([Secrets(["a secret that is known"])], guesses=True).short([Long()])
    assert len(read_items) < 1_000
    assert "secret" not in text
    assert text.endswith("...")
