"""Expands URI templates (RFC 6570), as resource templates have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import InvalidArguments

# Of a query, a fragment and the like; a hole in a path would be another resource.
_OPTIONAL_AFTER = ("?", "&", ";", "#")


def fill_template(template: str, values: Mapping[str, Any]) -> str:
    """The URI that a template gives with these values, each encoded as its place wants it.

    A value is text, a number, true or false, or a list of these. Parameters of a query may be
    left out.

    Raises:
        InvalidArguments: a value is missing, or there is no place for it.
    """
    # Here, because most runs never fill in a template.
    import uritemplate

    parsed = uritemplate.URITemplate(template)
    needed: dict[str, bool] = {}
    for expression in parsed.variables:
        is_needed = expression.operator.value not in _OPTIONAL_AFTER
        needed |= {name: is_needed for name, _ in expression.variables}
    given = {name: _as_text(x) for name, x in values.items() if x not in (None, "")}
    problems = [f"{x} is missing" for x in needed if needed[x] and x not in given]
    problems += [f"there is no parameter {x}" for x in values if x not in needed]
    if problems:
        raise InvalidArguments(template, problems, ", ".join(needed) or "no parameters")
    return parsed.expand(given)


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return [_as_text(x) for x in value]  # pyright: ignore[reportUnknownVariableType]
    return str(value)
