"""Why a learner's workflow did not finish, as a sentence that says what to do."""

from __future__ import annotations

import re

_MOST_LINES = 3
_MOST_CHARS = 200

# The forms in which a script reports a node's error, and Python any other error.
_OUR_ERROR = re.compile(
    r"^(?:xai_mcp_agent\.[\w.]+: |The workflow stopped at \w+ \(\w+\):\n)"
    r"(.*?)(?=\n\s*XAI_MCP_SHOW=verbose|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LAST_NODE = re.compile(r"^Executing: (\w+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"KeyError: '(\w+)'")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_WORKFLOW = "The file is not a workflow, or only half of one. Save it again from the canvas."


def last_lines(errors: str) -> tuple[str, ...]:
    """Return the last lines of the error output, each shortened for display."""
    # Python's marks under a line of code mean nothing out of place.
    lines = [x.rstrip() for x in errors.splitlines() if x.strip(" ^~")]
    return tuple(x if len(x) <= _MOST_CHARS else f"{x[:_MOST_CHARS]}..." for x in lines)[
        -_MOST_LINES:
    ]


# What Xircuits' compiler (1.19.2) prints, and what to do about it.
_COMPILER_ERRORS = {
    "finish_node": (
        "The dashed lines do not lead from Start to Finish. Follow them from node to node, "
        "draw the one that is missing, and save."
    ),
    "_get_value_from_literal_port": (
        "The text in a value box cannot be read. In a dict or a list, texts need "
        '"double quotes", commas are between values only, numbers have a decimal point: 26.2.'
    ),
    "self.graph[0]": (
        "Start leads straight to Finish. Put at least one node between them, and save."
    ),
    "JSONDecodeError": _NO_WORKFLOW,
    "KeyError: 'layers'": _NO_WORKFLOW,
    "": "Xircuits could not compile the workflow.",
}


def why_not_compiled(errors: str) -> str:
    """Return why Xircuits' compiler failed on a workflow, and what to do."""
    return next(sentence for mark, sentence in _COMPILER_ERRORS.items() if mark in errors)


def why_stopped(errors: str, output: str) -> str:
    """Return why a compiled workflow stopped before its end."""
    if message := _OUR_ERROR.search(errors):
        return " ".join(message[1].split())
    node = (_LAST_NODE.findall(output) or ["A node"])[-1]
    last = (last_lines(errors) or ("",))[-1]
    if module := _MODULE.search(last):
        return _missing_module(module[1])
    if placeholder := _PLACEHOLDER.search(last):
        return (
            f"{node} looked for {placeholder[1]!r} and did not find it. Write that name the same "
            "way in both places."
        )
    if "NoneType" in last:
        return (
            f"{node} got nothing on a port that it needs. Draw a line to that port, or give "
            "it a value."
        )
    return f"{node} stopped with an error."


def _missing_module(module: str) -> str:
    if module.startswith("xai_components"):
        return "The folder lacks nodes that the workflow uses. Run `xai-mcp-agent init` in it."
    return f"A node needs the Python package {module!r}, which is not installed here."
