"""Tools of a shop that fit together, as sources list them."""

from __future__ import annotations

from typing import Any

from xai_mcp_agent import Tool, ToolKey

Json = dict[str, Any]

TEXT: Json = {"type": "string"}


def fitting(
    name: str, description: str, takes: Json | None = None, gives: Json | None = None
) -> Tool:
    """Return a tool that requires all of `takes`; without `gives` it has no output schema."""
    input_schema = {"type": "object", "properties": takes or {}, "required": [*(takes or {})]}
    output_schema = None if gives is None else {"type": "object", "properties": gives}
    return Tool(ToolKey("mcp", "", name), description, input_schema, output_schema)


PARCEL: Json = {"parcels": {"type": "array", "items": {"properties": {"parcel_id": TEXT}}}}
SHOP = (
    fitting("list_parcels", "List the parcels of a customer.", {"customer_id": TEXT}, PARCEL),
    fitting("find_customer", "Find a customer by email.", {"email": TEXT}, {"customer_id": TEXT}),
    fitting("ring_bell", "Ring the bell."),
)
POST = (fitting("trace_parcel", "Trace a parcel.", {"parcel_id": TEXT}, {"place": TEXT}),)
