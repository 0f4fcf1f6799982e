"""What nodes say of themselves when they call tools: by it calls are found in the history."""

from __future__ import annotations

import sys
from pathlib import Path
from secrets import token_hex

_RUN_ID_BYTES = 6
_NO_WORKFLOWS = ("ipykernel_launcher", "xai-mcp-agent")


def new_run_id() -> str:
    """An id for one run of an agent, or of a node; the transcript and the history have the same."""
    return token_hex(_RUN_ID_BYTES)


def workflow_name() -> str:
    """The name of the workflow that runs in this process: of its script; "" where there is none."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    name = Path(script).stem if isinstance(script, str) else ""
    return "" if name.startswith("__") or name in _NO_WORKFLOWS else name
