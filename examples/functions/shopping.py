"""A shopping list as plain Python functions, which an agent uses as tools.

`mcp_settings.json` names this file under `functions`; the node AgentUseFunctions gives it to an
agent. Change it during a run: the agent has the new functions at its next step.
"""

from typing import Annotated, Literal

from pydantic import Field

_LIST: dict[str, int] = {}


def add_item(
    item: Annotated[str, Field(description="What to buy, such as `bread`.")],
    count: Annotated[int, Field(description="How many of it.", ge=1, le=100)] = 1,
) -> str:
    """Put something on the shopping list."""
    _LIST[item] = _LIST.get(item, 0) + count
    return f"{_LIST[item]} x {item} on the list."


def show_list(order: Literal["as added", "by name"] = "as added") -> dict[str, int]:
    """Tell what is on the shopping list, and how many of each."""
    return dict(sorted(_LIST.items())) if order == "by name" else dict(_LIST)


def cost(prices: dict[str, float]) -> float:
    """Add up what the shopping list costs, for these prices of one piece each.

    What has no price is an error: the total would be wrong.
    """
    missing = [item for item in _LIST if item not in prices]
    if missing:
        raise ValueError(f"no price for {', '.join(missing)}")
    return round(sum(count * prices[item] for item, count in _LIST.items()), 2)
