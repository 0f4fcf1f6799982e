"""How deep workflows run inside each other, and which: an agent in one may use another as a tool.

Each runs in a process of its own. Which workflows a process runs inside is in its environment, so
that it reaches further processes, too.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

CHAIN_VARIABLE = "XAI_WORKFLOW_CHAIN"
DEPTH_VARIABLE = "XAI_MAX_WORKFLOW_DEPTH"

_DEFAULT_DEPTH = 3  # each level may call the next over and over: the cost multiplies
_CYCLE_FIX = (
    "Have the workflows go without each other: take AgentUseWorkflow, or the entry, out of "
    "the inner one."
)


def chain_with(file: str) -> str:
    """The value of the variable for a process that runs this workflow."""
    return json.dumps([*_chain(), os.path.realpath(file)])


def why_not_nested(file: str) -> tuple[str, str]:
    """Why this workflow must not run inside those that run here, and what to do; else empty."""
    chain, deepest = _chain(), _deepest()
    names = " > ".join(os.path.basename(x) for x in (*chain, file))
    if os.path.realpath(file) in chain:
        return f"the workflow would run inside itself: {names}.", _CYCLE_FIX
    if len(chain) >= deepest:
        problem = f"workflows may run {deepest} deep inside each other, and this is more: {names}."
        return problem, f"Take one out, or set {DEPTH_VARIABLE} to a larger number."
    return "", ""


def _chain() -> list[str]:
    try:
        found = json.loads(os.environ.get(CHAIN_VARIABLE, "[]"))
    except ValueError:
        return []
    return [str(x) for x in cast(list[Any], found)] if isinstance(found, list) else []


def _deepest() -> int:
    written = os.environ.get(DEPTH_VARIABLE, "").strip()
    return int(written) if written.isdecimal() else _DEFAULT_DEPTH
