"""A value of the wrong kind on any port is an error that names the port and its node."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import make, play
from xai_mcp_agent import BadSetting, UnknownProvider, agent_components, mcp_components
from xai_mcp_agent.agent_components import AgentInit, AgentModel, AgentUseOpenAPI
from xai_mcp_agent.canvas.ports import inputs
from xai_mcp_agent.drawing.components import our_components

from .conftest import UseServers

_NODES: dict[str, type[Component]] = {
    name: getattr(agent_components, name, None) or getattr(mcp_components, name)
    for name in our_components()
}
_NAMES = {"tools", "except_tools", "trusted", "blocked", "always_shown"}
_WRONG: dict[str, list[Any]] = {
    "str": [7, True, {"a": 1}, ["x"], b"x"],
    "names": [7, {"a": 1}, ["a", 3], ["a", None]],
    "dict": [7, "x", ["x"], True],
    "int": ["many", -1, float("nan"), 10**400],
    "float": ["hot", -1, float("inf"), ["x"]],
    "secret": [7, ["x"], {"k": 1}],
}
_READ_ALONE = ("AgentInit", "AgentUpdate", "AgentModel", "AgentModelLimits", "AgentMakeToolbelt")


def _cases(name: str) -> Iterator[tuple[str, Any]]:
    for port, hint in _NODES[name].__annotations__.items():
        if getattr(getattr(hint, "__origin__", None), "__name__", "OutArg") == "OutArg":
            continue
        if (name, port) == ("AgentMakeToolbelt", "approval"):
            continue  # words by tools, as a dict too
        kind = "names" if port in _NAMES else hint.__args__[0].__name__
        yield from ((port, value) for value in _WRONG.get(kind, ()))


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers) -> None:
    use_servers()


def _read(name: str, port: str, value: Any) -> None:
    """Have a node read its ports, and whatever else it needs is there."""
    cls = _NODES[name]
    needed = {x.name: "x" for x in our_components()[name].ports if x.kind == "compulsory"}
    node = make(cls, **{**needed, port: value})
    if name in _READ_ALONE:
        play({}, make(AgentInit), node)
    elif port == "api_key":
        play({}, make(cls, **{**needed, port: value}, **_with_key(cls)))
    else:
        inputs(node)


def _with_key(cls: type[Component]) -> dict[str, Any]:
    if cls is AgentUseOpenAPI:
        return {"spec": "x.json"}
    return {"embedding_model": "m"} if "embedding_model" in cls.__annotations__ else {}


@pytest.mark.parametrize("name", _NODES)
def test_a_value_of_the_wrong_kind_names_its_port_and_node(name: str) -> None:
    for port, value in _cases(name):
        error = UnknownProvider if port == "provider" else BadSetting
        words = "offline" if error is UnknownProvider else f"`{port}.*{name}|{name}.*`{port}"
        with pytest.raises(error, match=words):
            _read(name, port, value)


def test_an_empty_port_is_nothing_and_a_compulsory_text_is_asked_for() -> None:
    for name, node in _NODES.items():
        hints = node.__annotations__.items()
        needed = {x: "x" for x, hint in hints if "InCompArg" in str(hint)}
        values = inputs(make(node, **needed))
        assert all(not x for port, x in values.items() if port not in needed)
        texts = [x for x, hint in hints if "InCompArg[str]" in str(hint)]
        for port in texts:
            with pytest.raises(BadSetting, match=rf"{name} has nothing to work .* set `{port}`"):
                inputs(make(node, **{x: "x" for x in texts if x != port}))


def test_names_are_a_text_with_commas_or_a_list_from_a_wire() -> None:
    for names in ("a, b*", ["a", " b* "], '"a", "b*"', ("a", "b*")):
        node = make(_NODES["AgentPreferTools"], blocked=names)
        assert inputs(node)["blocked"] == ["a", "b*"]
    assert inputs(make(_NODES["AgentUseTools"], group_name="x", tools=[]))["tools"] == []


def test_a_key_is_also_taken_from_the_file_for_keys_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("ACME_KEY=sk-of-file\n", encoding="utf-8")

    def key() -> str:
        node = make(AgentModel, provider="openai", model="m", api_key="${ACME_KEY}")
        play({}, node)
        return node.model_settings.value["api_key"].secret.reveal()

    assert "ACME_KEY" not in os.environ
    assert key() == "sk-of-file"
    monkeypatch.setenv("ACME_KEY", "sk-of-environment")
    assert key() == "sk-of-environment"
