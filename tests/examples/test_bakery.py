"""The example service with OpenAPI, in its own process, through a bridge."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.bakery import bakery
from tests.support.bridges import names_of, status_of
from xai_mcp_agent import Bridge

KEY = "sesame-open-it"


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    with bakery("--key", KEY) as running:
        yield running


@contextmanager
def bridge_to(url: str, **entry: Any) -> Generator[Bridge]:
    services = {"bakery": {"spec": f"{url}/openapi.json", **entry}}
    with Bridge({"openapiServices": services}) as bridge:
        yield bridge


@pytest.fixture
def bridge(url: str) -> Generator[Bridge]:
    with bridge_to(url, auth={"apiKey": KEY}) as opened:
        yield opened


def place_order(bridge: Bridge) -> str:
    order = {"customer": "Ada", "items": {"rye": 2, "roll": 1}}
    result = bridge.call_tool("bakery", "place_order", order)
    assert result.structured["total"] == 9.0
    return result.structured["order_id"]


def test_a_customer_can_place_read_and_cancel_an_order(bridge: Bridge) -> None:
    assert names_of(bridge.list_tools("bakery")) == [
        "list_products", "list_orders", "place_order", "get_order", "cancel_order", "bake_order",
        "get_baked_order",
    ]  # fmt: skip
    assert status_of(bridge, "bakery").notes == ()
    vegan = bridge.call_tool("bakery", "list_products", {"vegan": True}).structured["products"]
    assert [x["id"] for x in vegan] == ["rye", "roll"]
    order_id = place_order(bridge)
    order = bridge.call_tool("bakery", "get_order", {"order_id": order_id}).structured
    assert (order["customer"], order["status"]) == ("Ada", "placed")
    assert not bridge.call_tool("bakery", "cancel_order", {"order_id": order_id}).is_error
    result = bridge.call_tool("bakery", "get_order", {"order_id": order_id})
    assert (result.is_error, "No order" in result.text) == (True, True)


def test_the_call_that_bakes_an_order_waits_and_reports_progress(bridge: Bridge) -> None:
    progress: list[str] = []
    order_id = place_order(bridge)
    result = bridge.call_tool(
        "bakery", "bake_order", {"order_id": order_id},
        on_progress=lambda current, total, words: progress.append(words),
    )  # fmt: skip
    assert result.structured["status"] == "ready"
    assert progress[-1] == "ready"
    refusal = bridge.call_tool("bakery", "cancel_order", {"order_id": order_id})
    assert "409" in refusal.text


def test_an_order_of_an_unknown_product_is_refused(bridge: Bridge) -> None:
    order = {"customer": "Ada", "items": {"cake": 1}}
    result = bridge.call_tool("bakery", "place_order", order)
    assert (result.is_error, "422" in result.text, "croissant" in result.text) == (True,) * 3


def test_the_bakery_refuses_a_missing_or_wrong_key(url: str) -> None:
    for entry, words in (({}, "X-Bakery-Key"), ({"auth": {"apiKey": "wrong-key"}}, "401")):
        with bridge_to(url, **entry) as bridge:
            result = bridge.call_tool("bakery", "list_orders")
        assert (result.is_error, words in result.text) == (True, True)
