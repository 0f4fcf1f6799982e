"""Messages and calls, as the loop and a model exchange them.

Messages are dicts in the Chat Completions shape (`role`, `content`, `tool_calls`, `tool_call_id`),
the common tongue of all providers. Content is a string or a list of parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

ADDED = "_added"
"""Where a message of an assistant keeps what its service put in besides the protocol's fields.

An object with `service` (which one), `message` (the fields) and `calls` (those of its calls, by
id). It is for that service alone: whoever sends messages takes it out for any other.
"""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for. `arguments` is the text it wrote: JSON, or meant to be.

    `not_made` tells the model why it is not made; `note` is added to its result.
    """

    id: str
    name: str
    arguments: str
    not_made: str = ""
    note: str = ""
