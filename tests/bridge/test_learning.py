"""What agents' runs teach: kept without values, used for plans, and forgotten."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.search.test_stores_intents import written_in
from tests.support import order_server
from tests.support.databases import place_of
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from tests.support.order_server import EMAIL, ORDERS, USER
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, StoreFailed, ToolKey
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import RunEvent
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.models.choice import model_for
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.run_memory import Remembered
from xai_mcp_agent.bridge.source_toolset import SourceToolset
from xai_mcp_agent.bridge.toolbox import agent_tools
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.planning import FromResult, Plan
from xai_mcp_agent.planning.learned_runs import RUNS, Learnings
from xai_mcp_agent.planning.observed import ObservedRun, TracedCall

REQUEST = "Please stop my newest purchase."
FIND, LIST = calls(("shop_find_user", {"email": EMAIL})), calls(
    ("shop_list_orders", {"user_id": USER})
)  # fmt: skip
CANCEL = calls(("shop_cancel_order", {"order_id": ORDERS[0], "reason": "not needed"}))
SCRIPT = [FIND, LIST, CANCEL, says("It is cancelled.")]


@contextmanager
def shop(place: Place, **settings: Any) -> Generator[Bridge]:
    """A bridge to the shop, whose history is kept there."""
    entry = {"command": warm_python(), "args": [order_server.__file__]}
    store = str(place.file or place.url.replace("+psycopg", ""))
    given = {"mcpServers": {"shop": entry}, **settings}
    with Bridge(given, store="memory" if place.url == "sqlite://" else store) as made:
        yield made


@pytest.fixture
def bridge(place: Place) -> Generator[Bridge]:
    with shop(place) as made:
        yield made


def run(
    bridge: Bridge,
    script: Sequence[Step],
    request: Any = REQUEST,
    toolbelt: str = "",
    most: int = 9,
) -> None:
    """Run an agent that has the shop's tools, with a model that says this."""

    async def hear(_: RunEvent) -> None:
        pass

    async def play(operations: Operations) -> None:
        operations = operations.for_caller(Caller("agent", "a", toolbelt))
        model = model_for("openai", "m", base_url=endpoint.base_url)
        sources = SourceToolset(operations, operations.choice(["shop"]), {})
        tools, pages = agent_tools(operations, [sources])
        await sources.connect(lambda _: None)
        spec = AgentSpec("a", model, max_thoughts=most)
        agent = AgentRun(spec, Conversation(request), hear, operations.caller)
        try:
            await agent.go(tools, pages)
        finally:
            await model.aclose()

    with model_endpoint(script) as endpoint:
        bridge.run(play)


async def remembered(operations: Operations, toolbelt: str | None) -> Remembered:
    return await operations.engine.learned.remembered(toolbelt)


def known(bridge: Bridge, toolbelt: str | None = None) -> Remembered:
    return bridge.run(remembered, toolbelt)


def plans(bridge: Bridge, toolbelt: str | None = None) -> list[dict[str, Any]]:
    """What runs taught: each plan as often as it was made."""
    runs = known(bridge, toolbelt).runs.values()
    return [plan for plan, times in runs for _ in range(times)]


def kept(bridge: Bridge) -> Learnings:
    return bridge.learned()


def wired(bridge: Bridge, *tools: str, toolbelt: str = "") -> Plan:
    keys = [ToolKey("mcp", "shop", x) for x in tools]

    async def wire(operations: Operations) -> Plan:
        operations = operations.for_caller(Caller("agent", "a", toolbelt))
        return await operations.planned(
            await operations.usable_tools(), lambda x: x.wire("Do it", keys)
        )

    return bridge.run(wire)


def cancelled_with(plan: Plan) -> tuple[int, str | None]:
    source = plan.calls[-1].arguments["order_id"]
    assert isinstance(source, FromResult)
    return source.call, source.field


# What is learned


def test_a_run_teaches_its_tools_their_order_and_what_came_from_where(bridge: Bridge) -> None:
    run(bridge, SCRIPT)
    (plan,) = plans(bridge)
    assert plan["request"] == REQUEST
    assert [(x["tool"].name, x["args"]) for x in plan["calls"]] == [
        ("find_user", {"email": {"value": None}}),
        ("list_orders", {"user_id": {"call": 0, "field": "user.id"}}),
        ("cancel_order", {
            "order_id": {"call": 1, "field": "orders[].id"}, "reason": {"value": None},
        }),
    ]  # fmt: skip
    shapes = {key.name: shape for key, shape in known(bridge).shapes.values()}
    orders = shapes["list_orders"].field("orders")
    assert orders is not None
    assert orders.shape.item is not None
    assert [x.name for x in orders.shape.item.fields] == ["id", "items"]


def test_plans_are_made_with_what_runs_taught(bridge: Bridge) -> None:
    def tools() -> list[str]:
        return [x.name for x in bridge.plan_tools(REQUEST).calls]

    assert tools() != ["find_user", "list_orders", "cancel_order"]
    for _ in range(4):
        run(bridge, SCRIPT)
    assert tools() == ["find_user", "list_orders", "cancel_order"]
    plan = wired(bridge, "list_orders", "cancel_order")
    assert cancelled_with(plan) == (0, "orders[].id")
    assert "so 4 of 4 times before" in str(plan.calls[-1].arguments["order_id"])


def test_no_value_of_a_run_is_kept(tmp_path: Path) -> None:
    place = place_of("", tmp_path)
    with shop(place) as bridge:
        request = f"I am {EMAIL}, my password is horse-battery. Stop {ORDERS[1]}."
        buyers = calls(("shop_buyers", {}))
        run(bridge, [FIND, LIST, buyers, CANCEL, says("Done.")], request)
        assert len(known(bridge).runs) == 1
        (shape,) = [x for key, x in known(bridge).shapes.values() if key.name == "buyers"]
        assert shape.fields[0].shape.extra is not None
        for data in written_in(place):
            for value in (EMAIL, "grace@", USER, *ORDERS, "not needed", "horse", "20190317"):
                assert value.encode() not in data


def test_what_failed_is_no_part_of_it_and_no_run_that_did_not_end_well_teaches(
    bridge: Bridge,
) -> None:
    failing = calls(("shop_fail", {"order_id": ORDERS[0]}))
    run(bridge, [LIST, failing, CANCEL, says("Done.")])
    (plan,) = plans(bridge)
    assert [x["tool"].name for x in plan["calls"]] == ["list_orders", "cancel_order"]
    assert plan["calls"][1]["args"]["order_id"] == {"call": 0, "field": "orders[].id"}
    run(bridge, [FIND, LIST, says("I must stop.")], most=2)
    run(bridge, [says("No tool is needed.")])
    assert len(known(bridge).runs) == 1


def test_our_own_tools_are_no_part_of_it(place: Place) -> None:
    with shop(place, toolSearch={"tokenBudget": 200}) as bridge:
        search = calls(("tool_search", {"query": "orders of a user"}))
        run(bridge, [search, LIST, CANCEL, says("Done.")])
        (plan,) = plans(bridge)
    assert [x["tool"].name for x in plan["calls"]] == ["list_orders", "cancel_order"]
    assert plan["calls"][1]["args"]["order_id"] == {"call": 0, "field": "orders[].id"}


def test_a_plan_that_was_carried_out_whole_teaches_what_came_from_where(bridge: Bridge) -> None:
    listed = {"tool": "shop/list_orders", "args": {"user_id": {"value": USER}}}
    taken = {"order_id": {"call": 0, "field": "orders[1].id"}}
    cancelled = {"tool": "shop/cancel_order", "args": taken}
    assert bridge.run_plan({"request": REQUEST, "calls": [listed, cancelled]}).is_finished
    (plan,) = plans(bridge)
    assert [(x["tool"].name, x["args"]) for x in plan["calls"]] == [
        ("list_orders", {"user_id": {"value": None}}),
        ("cancel_order", {"order_id": {"call": 0, "field": "orders[].id"}}),
    ]
    lacking = {"tool": "shop/cancel_order", "args": {"order_id": {"missing": "which"}}}
    assert not bridge.run_plan({"request": "Other", "calls": [listed, lacking]}).is_finished
    assert len(known(bridge).runs) == 1


def test_toolbelts_learn_for_themselves(bridge: Bridge) -> None:
    for _ in range(4):
        run(bridge, SCRIPT, toolbelt="office")
    assert len(list(plans(bridge, "office"))) == 4
    assert not known(bridge, "default").runs
    reasons = wired(bridge, "list_orders", "cancel_order", toolbelt="office").calls[-1].arguments
    assert "times before" in str(reasons)
    reasons = wired(bridge, "list_orders", "cancel_order", toolbelt="hotel").calls[-1].arguments
    assert "times before" not in str(reasons)


# Attacks


def test_a_server_that_repeats_what_others_gave_is_not_taken_for_where_it_came_from(
    bridge: Bridge,
) -> None:
    parrot = calls(("shop_parrot", {}))
    for _ in range(4):
        run(bridge, [LIST, parrot, CANCEL, says("Done.")])
    plan = wired(bridge, "list_orders", "parrot", "cancel_order")
    assert cancelled_with(plan) == (0, "orders[].id")
    text = str([x for _, x in known(bridge).shapes.values()])
    assert "find_user.user" not in text


def test_one_coincidence_does_not_outrank_names(bridge: Bridge) -> None:
    rows = calls(("shop_everything", {"rows": 3}))
    by_chance = calls(("shop_cancel_order", {"order_id": "r0000001"}))
    run(bridge, [LIST, rows, by_chance, says("Done.")])
    assert "rows[].id" in str(list(plans(bridge)))
    assert cancelled_with(wired(bridge, "list_orders", "everything", "cancel_order"))[0] == 0


def test_huge_results_hold_up_no_loop(bridge: Bridge) -> None:
    huge = calls(("shop_everything", {"rows": 20_000}))
    run(bridge, [huge, CANCEL, says("Done.")])
    assert len(known(bridge).runs) == 1
    (shape,) = [x for key, x in known(bridge).shapes.values() if key.name == "everything"]
    assert [x.name for x in shape.fields] == ["rows"]


# Switched off, and away


def test_without_learned_words_no_request_is_kept(tmp_path: Path) -> None:
    place = place_of("", tmp_path)
    with shop(place, toolSearch={"learn": False}) as bridge:
        run(bridge, SCRIPT)
        run(bridge, SCRIPT, "Something else altogether")
        (plan, times) = next(iter(known(bridge).runs.values()))
        assert (plan["request"], times) == ("", 2)
        assert not any(b"purchase" in x or b"altogether" in x for x in written_in(place))


@pytest.mark.parametrize("how", ["setting", "variable"])
def test_switched_off_nothing_is_kept_and_nothing_known(
    how: str, lasting_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(lasting_place) as bridge:
        run(bridge, SCRIPT)
    if how == "variable":
        monkeypatch.setenv("XAI_MCP_LEARN", "off")
    off: dict[str, Any] = {"planning": {"learn": False}} if how == "setting" else {}
    with shop(lasting_place, **off) as bridge:
        run(bridge, SCRIPT)
        assert not known(bridge).runs
        assert [x.times for x in kept(bridge).runs] == [1]


def test_without_a_store_runs_and_plans_go_on(tmp_path: Path) -> None:
    (tmp_path / "history.db").mkdir()
    told: list[str] = []
    entry = {"command": warm_python(), "args": [order_server.__file__]}
    store = tmp_path / "history.db"
    with Bridge({"mcpServers": {"shop": entry}}, store=store, warn=told.append) as bridge:
        run(bridge, SCRIPT)
        assert not known(bridge).runs
        assert bridge.plan_tools("List the orders of a user").calls
        with pytest.raises(StoreFailed):
            kept(bridge)
    with Bridge({"mcpServers": {"shop": entry}}, store="off") as bridge:
        run(bridge, SCRIPT)
        assert not known(bridge).runs


# Read again, and forgotten


def test_a_later_process_knows_it_and_only_what_is_new_is_read_again(lasting_place: Place) -> None:
    with shop(lasting_place) as bridge:
        run(bridge, SCRIPT)
    with shop(lasting_place) as bridge:
        first = known(bridge)
        assert len(first.runs) == 1
        assert known(bridge) is first
        run(bridge, [LIST, says("Done.")], "What did I buy?")
        second = known(bridge)
        assert (len(second.runs), second.age) == (2, first.age)


def test_what_is_forgotten_is_not_planned_with(bridge: Bridge) -> None:
    for _ in range(4):
        run(bridge, SCRIPT)
    run(bridge, [FIND, says("It is you.")], "Who am I?")
    assert "times before" in str(wired(bridge, "list_orders", "cancel_order"))
    gone = bridge.forget_learned("shop", "cancel_order")
    assert [x.times for x in gone.runs] == [4]
    assert "times before" not in str(wired(bridge, "list_orders", "cancel_order"))
    assert [x["request"] for x in plans(bridge)] == ["Who am I?"]


def test_what_the_store_let_go_of_is_let_go_of_by_open_bridges(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUNS, "most_of_toolbelt", 10)
    with shop(place) as bridge:
        for number in range(40):
            learn(bridge, f"do {chr(97 + number % 26)}{chr(97 + number // 26)}")
            assert len(known(bridge).runs) <= 10
            assert {x["request"] for x in plans(bridge)} == {x.words for x in kept(bridge).runs}


def learn(bridge: Bridge, request: str, toolbelt: str = "default") -> None:
    async def tell(operations: Operations) -> None:
        calls = (TracedCall(ToolKey("mcp", "shop", "buyers"), {}),)
        operations.engine.learned.learn_traced(toolbelt, request, ObservedRun(calls))

    bridge.run(tell)
