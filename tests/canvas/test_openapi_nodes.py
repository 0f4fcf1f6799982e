"""Agents on the canvas that use web services: the node, a scripted model, a real service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bakery import bakery
from tests.support.canvas import make, play
from tests.support.model_endpoint import ModelEndpoint, Step, calls, model_endpoint, says
from xai_mcp_agent import BadSetting, UnknownServer
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentRun,
    AgentUseMCPTools,
    AgentUseOpenAPI,
)

from .conftest import UseServers

KEY = "sesame-open-please"
ORDER = {"customer": "Ada", "items": {"rye": 2}}


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with bakery("--key", KEY) as address:
        yield address


@pytest.fixture
def known(service: str, use_servers: UseServers) -> Path:
    file = use_servers(off={"command": "a", "disabled": True})
    settings = json.loads(file.read_text(encoding="utf-8"))
    entry = {"spec": f"{service}/openapi.json", "auth": {"apiKey": KEY}}
    settings["openapiServices"] = {"bakery": entry, "broken": {}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    return file


def order_and_bake(tool: str) -> Any:
    """A model that orders, has it baked, and tells the price."""

    def script(body: dict[str, Any]) -> Step:
        told = [x["content"] for x in body["messages"] if x["role"] == "tool"]
        if not told:
            return calls((f"{tool}_place_order", ORDER))
        order = json.loads(told[0])
        if len(told) == 1:
            return calls((f"{tool}_bake_order", {"order_id": order["order_id"]}))
        return says(f"{json.loads(told[1])['status']}: {order['total']}")

    return script


def run_with(endpoint: ModelEndpoint, *nodes: Any) -> AgentRun:
    belt = make(AgentMakeToolbelt)
    model = {"agent_provider": "openai", "agent_model": "m", "api_key": "sk-dummy"}
    agent = make(
        AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec,
        base_url=endpoint.base_url, **model,
    )  # fmt: skip
    run = make(AgentRun, agent_name="a", conversation="Two rye breads for Ada.")
    play({}, *nodes, belt, agent, run)
    return run


@pytest.mark.usefixtures("known")
def test_an_agent_orders_at_a_service_and_waits_for_a_job() -> None:
    """The answer to the job is that of its end, and the broken entry costs nothing."""
    with model_endpoint(order_and_bake("bakery")) as endpoint:
        use = [make(AgentUseOpenAPI, service_name=x) for x in ("bakery", "broken")]
        run = run_with(endpoint, *use)
        first = endpoint.requests[0].body
    assert run.last_response.value == "ready: 8.4"
    assert "bakery_cancel_order" in [x["function"]["name"] for x in first["tools"]]
    assert KEY not in json.dumps([x.body for x in endpoint.requests])


@pytest.mark.usefixtures("known")
def test_a_node_names_the_document_itself_and_some_of_its_tools(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKERS_KEY", KEY)
    with model_endpoint(order_and_bake("shop")) as endpoint:
        use = make(
            AgentUseOpenAPI, spec=f"{service}/openapi.json", service_name="shop",
            api_key="${BAKERS_KEY}", except_tools="cancel_*, list_orders",
        )  # fmt: skip
        run = run_with(endpoint, use)
        names = [x["function"]["name"] for x in endpoint.requests[0].body["tools"]]
    assert run.last_response.value == "ready: 8.4"
    assert "shop_place_order" in names
    assert not {"shop_cancel_order", "shop_list_orders"} & {*names}


@pytest.mark.usefixtures("known")
def test_a_document_may_be_a_file_beside_the_workflow(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {"/products": {"get": {"operationId": "products", "responses": {}}}}
    document = {"openapi": "3.0.3", "info": {}, "paths": paths}
    (tmp_path / "small shop.json").write_text(json.dumps(document), encoding="utf-8")
    with model_endpoint([calls(("small_shop_products", {})), says("Done.")]) as endpoint:
        use = make(AgentUseOpenAPI, spec="small shop.json", base_url=service, api_key=KEY)
        run = run_with(endpoint, use)
        told = endpoint.requests[-1].body["messages"][-1]["content"]
    assert run.last_response.value == "Done."
    assert "HTTP 401" in told  # the document names no scheme, so no key is sent as one


@pytest.mark.usefixtures("known")
def test_the_node_says_what_it_needs() -> None:
    with pytest.raises(UnknownServer, match="Known: bakery"):
        play({}, make(AgentUseOpenAPI, service_name="bakry"))
    with pytest.raises(UnknownServer, match="node for what stands there is AgentUseOpenAPI"):
        play({}, make(AgentUseMCPTools, server_name="bakery"))
    with pytest.raises(BadSetting, match="needs `service_name`"):
        play({}, make(AgentUseOpenAPI))
    with pytest.raises(BadSetting, match="stand in the settings"):
        play({}, make(AgentUseOpenAPI, service_name="bakery", api_key="x"))
    with pytest.raises(BadSetting, match=r"finds no file 'no\.json'"):
        play({}, make(AgentUseOpenAPI, spec="no.json"))
    with pytest.raises(BadSetting, match="has no host"):
        play({}, make(AgentUseOpenAPI, spec="http://"))
