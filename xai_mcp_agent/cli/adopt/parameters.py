"""Adds parameters to the drawn tools of an adopted workflow, read from the drawing.

xai-agent's tools do not declare parameters; the nodes behind a tool show them by what they look up
in its `tool_args`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from ...console.text import cut
from ...core.json import JsonObject
from ...secrets.search import tokens_in_text
from .workflow import AdoptedNode, AdoptedWorkflow, Remark, in_port

_TOOL, _ARGUMENTS, _PARAMETERS = "AgentDefineTool", "tool_args", "parameters"
# For each lookup node, the port of the dict and the port of the key.
_LOOKUPS = {"DictGetItem": ("the_dict", "key"), "GetDictValue": ("obj", "name")}
_TYPES = {
    "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
}  # fmt: skip
_DEFAULT_TYPE = "string"
_IN_CODE = re.compile(r"""\btool_args\s*(?:\[|\.get\()\s*(['"])(\w{1,80})\1""")
_MAX_NAME_CHARS = 40  # length of a parameter's name in a remark


def add_parameters(workflow: AdoptedWorkflow, adopted: Iterable[AdoptedNode]) -> Iterator[Remark]:
    """Wire parameters to each drawn tool, and return a remark about each."""
    for node in adopted:
        if node.node != _TOOL:
            continue
        tool = workflow.nodes[node.node_id]
        parameters = {**_types_looked_up(workflow, tool), **_types_in_code(workflow, node.node_id)}
        port = in_port(tool, _PARAMETERS)
        if parameters and port:
            # The canvas writes a dict without its braces.
            text = json.dumps(parameters, ensure_ascii=False)[1:-1]
            workflow.wire(workflow.add_literal(node.node_id, _PARAMETERS, text, "dict"), port)
        yield from _remarks(node, tool, parameters)


def _out_ports(node: JsonObject, name: str | None = None) -> Iterator[JsonObject]:
    return (x for x in node["ports"] if not x["in"] and name in (None, x["label"]))


def _types_looked_up(workflow: AdoptedWorkflow, tool: JsonObject) -> dict[str, str]:
    """Return the names that nodes behind a tool look up in its arguments, with their types."""
    types: dict[str, str] = {}
    for out in _out_ports(tool, _ARGUMENTS):
        for node_id, port in workflow.targets(out):
            reader = workflow.nodes[node_id]
            dict_port, key_port = _LOOKUPS.get(reader["name"], ("", ""))
            key = (workflow.text_at(in_port(reader, key_port)) or "").strip().strip("'\"")
            if port is in_port(reader, dict_port) and key:
                types[key] = _type(workflow, reader)
    return types


def _type(workflow: AdoptedWorkflow, reader: JsonObject) -> str:
    """Return the type of the ports that receive a value; text if they have none."""
    targets = (port for out in _out_ports(reader) for _, port in workflow.targets(out))
    return next((_TYPES[x["dataType"]] for x in targets if x["dataType"] in _TYPES), _DEFAULT_TYPE)


def _types_in_code(workflow: AdoptedWorkflow, tool: str) -> dict[str, str]:
    """Return the names that code in texts behind a tool reads, such as `tool_args["city"]`."""
    texts = (
        workflow.text_at(port) or ""
        for node_id in _behind(workflow, tool)
        for port in workflow.nodes[node_id]["ports"]
        if port["in"]
    )
    return {x[2]: _DEFAULT_TYPE for text in texts for x in _IN_CODE.finditer(text)}


def _behind(workflow: AdoptedWorkflow, tool: str) -> Iterator[str]:
    """Yield the nodes that the tool leads to."""
    visited, waiting = {tool}, [tool]
    while waiting:
        for out in _out_ports(workflow.nodes[waiting.pop()]):
            for target, _ in workflow.targets(out):
                if target not in visited:
                    visited.add(target)
                    waiting.append(target)
                    yield target


def _remarks(
    node: AdoptedNode, tool: JsonObject, parameters: Mapping[str, str]
) -> Iterator[Remark]:
    if parameters:
        names = ", ".join(f"`{_printable(x)}` ({kind})" for x, kind in parameters.items())
        text = (
            f"its new port `{_PARAMETERS}` has what the nodes behind it read: {names}. Look "
            "whether the types are right, so that the model knows what to fill in."
        )
    elif any(x["links"] for x in _out_ports(tool, _ARGUMENTS)):
        text = (
            "its `tool_args` is used, and it is unclear what is read of it. So that the model "
            "knows what to fill in, give its new port "
            f'`{_PARAMETERS}` names and types, such as `"city": "string"`.'
        )
    else:
        return
    yield Remark(node.node, node.node_id, text, to_do=False, port=_PARAMETERS)


def _printable(name: str) -> str:
    """Return a name that is safe to print: a key may have been wired to the wrong port."""
    return "***" if tokens_in_text(name) else cut(name, _MAX_NAME_CHARS)
