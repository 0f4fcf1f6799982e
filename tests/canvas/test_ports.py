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


def _cases() -> Iterator[Any]:
    for name, node in _NODES.items():
        for port, hint in node.__annotations__.items():
            if getattr(getattr(hint, "__origin__", None), "__name__", "OutArg") == "OutArg":
                continue
            kind = "names" if port in _NAMES else hint.__args__[0].__name__
            if (name, port) == ("AgentMakeToolbelt", "approval"):
                continue  # words by tools, as a dict too
            for value in _WRONG.get(kind, ()):
                yield pytest.param(name, port, value, id=f"{name}.{port}={str(value)[:9]}")


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers) -> None:
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


@pytest.mark.parametrize(("name", "port", "value"), [*_cases()])
def test_a_value_of_the_wrong_kind_names_its_port_and_node(
    name: str, port: str, value: Any
) -> None:
    if port.endswith("provider"):
        with pytest.raises(UnknownProvider, match="offline"):
            _read(name, port, value)
        return
    with pytest.raises(BadSetting) as refused:
        _read(name, port, value)
    assert f"`{port}" in str(refused.value)
    assert name in str(refused.value)


@pytest.mark.parametrize("name", _NODES)
def test_a_compulsory_text_that_is_empty_is_reported_with_its_port(name: str) -> None:
    hints = _NODES[name].__annotations__
    texts = [x for x, hint in hints.items() if "InCompArg[str]" in str(hint)]
    for port in texts:
        with pytest.raises(BadSetting, match=rf"{name} has nothing to work with: set `{port}`"):
            inputs(make(_NODES[name], **{x: "x" for x in texts if x != port}))


def test_what_was_left_alone_is_nothing() -> None:
    for node in _NODES.values():
        needed = {x: "x" for x, hint in node.__annotations__.items() if "InCompArg" in str(hint)}
        values = inputs(make(node, **needed))
        assert all(not x for port, x in values.items() if port not in needed)


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
