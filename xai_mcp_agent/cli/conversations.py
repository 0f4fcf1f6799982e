"""Last conversation of each folder, for `ask --continue`; only this user can read the files."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from ..core.errors import XaiMcpError
from ..secrets.private_files import make_private_folder, replace_private

logger = logging.getLogger(__name__)


def last_conversation() -> list[Any]:
    """Return the messages of the last conversation of the working folder.

    Raises:
        XaiMcpError: there is none.
    """
    try:
        return json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise XaiMcpError(
            f"There is no conversation of {Path.cwd()} to go on with. Ask without --continue."
        ) from cause


def remember(conversation: list[Any]) -> None:
    """Store a conversation as the last one of the working folder."""
    file = _file()
    try:
        make_private_folder(file.parent)
        replace_private(file, json.dumps(conversation).encode())
    except OSError as reason:
        logger.warning("This conversation cannot be continued: %s", reason)


def _file() -> Path:
    from platformdirs import user_state_path

    folder = hashlib.sha256(str(Path.cwd()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    state = user_state_path("xai-mcp-agent", appauthor=False)
    return state / "conversations" / f"{folder}.json"
