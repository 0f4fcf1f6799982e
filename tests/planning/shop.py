"""Tools of a shop, as servers offer them: some declare their results, some do not."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def tool(
    name: str, description: str, parameters: Json | None = None, results: Json | None = None,
    *, server: str = "shop", required: list[str] | None = None,
) -> Json:  # fmt: skip
    """Return a tool as a dict; all its parameters are required by default."""
    properties = parameters or {}
    document: Json = {
        "id": f"{server}/{name}", "server": server, "name": name, "description": description,
        "input_schema": {
            "type": "object", "properties": properties,
            "required": list(properties) if required is None else required,
        },
    }  # fmt: skip
    if results is not None:
        document["output_schema"] = {"type": "object", "properties": results}
    return document


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
ORDER = {"type": "string", "description": "The order id, such as '#W0000000'."}
ORDERS = {
    "type": "array", "items": {"type": "object", "properties": {"order_id": TEXT, "total": NUMBER}}
}  # fmt: skip

TOOLS = [
    tool("find_user_id_by_email", "Find user id by email.", {"email": TEXT}),
    tool("list_orders", "List the orders of a user.", {"user_id": TEXT}, {"orders": ORDERS}),
    tool("cancel_order", "Cancel an order.", {"order_id": ORDER}, {"status": TEXT}),
    tool("get_exchange_rate", "Get the exchange rate of two currencies.",
         {"from": TEXT, "to": TEXT}, {"rate": NUMBER}, server="bank"),
    tool("convert_amount", "Convert an amount of money to another currency.",
         {"amount": NUMBER, "currency": TEXT}, {"converted_amount": NUMBER}, server="bank"),
    tool("send_message", "Send a message to somebody.", {"receiver": TEXT, "message": TEXT},
         server="mail"),
    tool("translate_text", "Translate a text to another language.",
         {"text": TEXT, "language": TEXT}, {"translated_text": TEXT}, server="words"),
]  # fmt: skip
