"""A workflow file: its JSON, checked by its shape, and the nodes and links in it.

Whatever else a person may have drawn wrong is in `rules`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..secrets.private_files import open_to_read
from .nodes import COMPULSORY_MARK, FLOW

Document: TypeAlias = dict[str, Any]
Item: TypeAlias = dict[str, Any]

_HINT = " Name the .xircuits file that the canvas opens."


class NoWorkflow(XaiMcpError):
    """A file is not a workflow, or cannot be read; the message names it and says why."""


class _Port(BaseModel, strict=True):
    id: str
    name: str
    is_in: bool = Field(alias="in")
    label: str
    varName: str = ""
    dataType: str = ""
    dynaPortOrder: int | None = None
    links: list[str] = []


class _Node(BaseModel, strict=True):
    name: str
    extras: JsonObject
    ports: list[_Port]
    portsInOrder: list[str] = []
    portsOutOrder: list[str] = []
    x: float
    y: float


class _Link(BaseModel, strict=True):
    source: str | None = None
    sourcePort: str | None = None
    target: str | None = None
    targetPort: str | None = None


class _Nodes(BaseModel):
    type: Literal["diagram-nodes"]
    models: dict[str, _Node]


class _Links(BaseModel):
    type: Literal["diagram-links"]
    models: dict[str, _Link]


class _File(BaseModel):
    """Schema of the parts that are read; used to validate only."""

    layers: tuple[_Links, _Nodes]


def read_document(file: Path) -> Document:
    """Read a workflow file.

    Raises:
        NoWorkflow: it cannot be read, or is not a workflow; the message names the place.
    """
    try:
        with os.fdopen(open_to_read(file), "rb") as stream:
            data = stream.read()
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else cause
        raise NoWorkflow(f"{file} cannot be read: {why}.{_HINT}") from cause
    try:
        document: Document = json.loads(data)
        _File.model_validate(document)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        place = ".".join(str(x)[:60] for x in problem["loc"]) or "the whole"
        why = f"{place}: {problem['msg']}"
    except (ValueError, RecursionError) as cause:
        why = f"it is not JSON: {cause}" if data.strip() else "it is empty"
    else:
        return document
    raise NoWorkflow(f"{file} is no workflow of Xircuits: {why}.{_HINT}")


def document_text(document: Document) -> str:
    """Return the text of a workflow's file, as the canvas writes it."""
    text = json.dumps(document, indent=4, ensure_ascii=False)
    # Half a character, as a broken paste leaves it, becomes its JSON escape.
    return text.encode("utf-8", "backslashreplace").decode()


def nodes_of(document: Document) -> dict[str, Item]:
    """Return the nodes of a workflow by their ids."""
    return document["layers"][1]["models"]


def links_of(document: Document) -> dict[str, Item]:
    """Return the links of a workflow by their ids, without those that lost the node at an end."""
    nodes, links = nodes_of(document), document["layers"][0]["models"]
    return {
        key: x for key, x in links.items() if x.get("source") in nodes and x.get("target") in nodes
    }


def variable_of(port: Item) -> str:
    """Return the name of a port in its class; all parts of a dynamic port have one name."""
    return str(port.get("varName") or port["label"]).removeprefix(COMPULSORY_MARK)


def nodes_after(document: Document, starts: Sequence[str]) -> list[str]:
    """Return the ids of these nodes, and of all nodes that their flows reach, in order."""
    following: dict[str, list[str]] = {}
    for link in links_of(document).values():
        if link.get("type") == FLOW:
            following.setdefault(link["source"], []).append(link["target"])
    reached, stack = dict[str, None](), list(reversed(starts))
    while stack:
        at = stack.pop()
        if at not in reached:
            reached[at] = None
            stack += reversed(following.get(at, []))
    return list(reached)
