"""Reads workflow files (.xircuits) and checks their shape."""

from __future__ import annotations

import json
import math
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from ...core.errors import XaiMcpError
from ...core.json import JsonObject

COMPULSORY_MARK = "\u2605"
DYNAMIC = ("dynalist", "dynatuple")
VALUE_PORT = "parameter-"

Items: TypeAlias = Mapping[str, JsonObject]
"""Nodes or links by their ids."""

_TYPE = re.compile(rf"{VALUE_PORT}(?:out-)?(.+?)-")
_NODES, _LINKS = "diagram-nodes", "diagram-links"
_LARGEST_BYTES = 50_000_000  # a drawing of ten thousand nodes; what is larger is something else
_LARGEST_TEXT = f"{_LARGEST_BYTES // 1_000_000} MB"
_HINT = " Name the .xircuits file that the canvas opens."


class WorkflowFileError(XaiMcpError):
    """A file that cannot be read or written, or is no workflow; the message names the place."""


def read_workflow(file: Path) -> JsonObject:
    """Return the document in `file`, which has one layer of nodes and one of links.

    Raises:
        WorkflowFileError: it is not there, not readable, not JSON, or no workflow; or two nodes
            or ports have one id.
    """
    try:
        document = json.loads(_text(file), parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as cause:
        where = f"line {cause.lineno}, column {cause.colno}"
        raise WorkflowFileError(
            f"{file}, {where}: this is not JSON: {cause.msg}.{_HINT}"
        ) from cause
    except ValueError as cause:
        raise WorkflowFileError(f"{file}: this is not JSON: {cause}.{_HINT}") from cause
    except RecursionError as cause:
        raise WorkflowFileError(
            f"{file}: it is nested too deeply for a workflow.{_HINT}"
        ) from cause
    if problem := _problem(document):
        raise WorkflowFileError(f"{file} is not a workflow: {problem}.{_HINT}")
    if twice := next(_twice(document), ""):
        raise WorkflowFileError(
            f"{file}: {twice}, so it cannot be told what is wired to which. Draw one of them anew "
            "in the lab."
        )
    return document


def workflow_text(document: JsonObject) -> str:
    """Return the document as the canvas writes it.

    Raises:
        RecursionError: it is nested more deeply than any workflow.
    """
    try:
        text = json.dumps(document, indent=4, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # half a character, as a broken paste leaves it
        return json.dumps(document, indent=4, allow_nan=False)
    return text


def nodes_of(document: JsonObject) -> Items:
    """Return the nodes by id."""
    return _layer(document, _NODES)["models"]


def links_of(document: JsonObject) -> Items:
    """Return the links by id."""
    return _layer(document, _LINKS)["models"]


def with_nodes(document: JsonObject, nodes: Items) -> JsonObject:
    """Return the document with other nodes; the given one stays as it is."""
    return _with_models(document, _NODES, nodes)


def with_links(document: JsonObject, links: Items) -> JsonObject:
    """Return the document with other links; the given one stays as it is."""
    return _with_models(document, _LINKS, links)


def text_of(item: JsonObject, key: str) -> str:
    """Return a text of a node, port or link; empty where there is none."""
    value = item.get(key)
    return value if isinstance(value, str) else ""


def number_of(item: JsonObject, key: str) -> float:
    """Return a number of a node or port; 0 where there is none that a place can have."""
    value = item.get(key)
    try:
        return float(value) if isinstance(value, int | float) else 0.0
    except OverflowError:
        return 0.0


def extras_of(node: JsonObject) -> JsonObject:
    """Return what a node says of its class; empty where it says nothing."""
    extras: Any = node.get("extras")
    return cast(JsonObject, extras) if isinstance(extras, dict) else {}


def ports_of(node: JsonObject) -> list[JsonObject]:
    """Return the ports of a node, without what is no port."""
    return _objects(node.get("ports"))


def port_type(port: JsonObject) -> str:
    """Return the type of a port; of one that an old Xircuits wrote, from its name."""
    named = _TYPE.match(text_of(port, "name"))
    return text_of(port, "dataType") or (named[1] if named else "")


def texts_by_port(document: JsonObject) -> dict[str, str]:
    """Return the text literals of a workflow by the id of the port each is wired to."""
    nodes = nodes_of(document)
    found: dict[str, str] = {}
    for link in links_of(document).values():
        source = nodes.get(text_of(link, "source"), {})
        if text_of(source, "name") == "Literal String":
            found |= {text_of(link, "targetPort"): text_of(x, "label") for x in ports_of(source)}
    return found


def _text(file: Path) -> str:
    try:
        if file.is_dir():
            raise WorkflowFileError(f"{file} is a folder. Name the .xircuits files in it.")
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe may never end
            raise WorkflowFileError(f"{file} is no ordinary file.{_HINT}")
        if status.st_size > _LARGEST_BYTES:
            raise WorkflowFileError(
                f"{file} has more than {_LARGEST_TEXT}: no workflow is so large."
            )
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as cause:
        raise WorkflowFileError(f"There is no file {file}. Check its name and folder.") from cause
    except OSError as cause:
        raise WorkflowFileError(f"{file} cannot be read: {cause.strerror or cause}.") from cause
    except UnicodeDecodeError as cause:
        where = f"byte {cause.start}"
        raise WorkflowFileError(f"{file}, {where}: this is not text in UTF-8.{_HINT}") from cause


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no number that JSON has")
    return number


def _problem(document: Any) -> str:
    """What keeps it from being a workflow; empty when nothing does."""
    layers = cast(JsonObject, document).get("layers") if isinstance(document, dict) else None
    if not isinstance(layers, list):
        return "it has no list `layers`"
    for kind in (_LINKS, _NODES):
        found = [x for x in _objects(layers) if x.get("type") == kind]
        if len(found) != 1:
            return f"`layers` has {len(found)} of the type {kind}, and should have one"
        models: Any = found[0].get("models")
        if not isinstance(models, dict):
            return f"the layer {kind} has no object `models`"
        for key, model in cast(JsonObject, models).items():
            if not isinstance(model, dict):
                return f"the layer {kind} has something at {key[:60]!r} that is no object"
    return ""


def _twice(document: JsonObject) -> Iterator[str]:
    """What has the id of another."""
    nodes = nodes_of(document).values()
    kinds: dict[str, Iterable[JsonObject]] = {
        "nodes": nodes, "ports": (port for node in nodes for port in ports_of(node)),
    }  # fmt: skip
    for kind, items in kinds.items():
        counts = Counter(text_of(x, "id") for x in items)
        yield from (f"two {kind} have the id {x[:60]!r}" for x, n in counts.items() if x and n > 1)


def _layer(document: JsonObject, kind: str) -> JsonObject:
    return next(x for x in _objects(document["layers"]) if x.get("type") == kind)


def _with_models(document: JsonObject, kind: str, models: Items) -> JsonObject:
    changed = _layer(document, kind)
    layers = [{**x, "models": dict(models)} if x is changed else x for x in document["layers"]]
    return {**document, "layers": layers}


def _objects(value: Any) -> list[JsonObject]:
    found = cast(list[Any], value) if isinstance(value, list) else []
    return [x for x in found if isinstance(x, dict)]
