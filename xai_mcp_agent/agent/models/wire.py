"""The seam between a model and the API it is asked by: how a request is written, a reply read.

One for each API: `chat_wire.py` and `responses_wire.py`. Whom to ask, how often, and what a service
turns out to refuse is the same for all: `openai.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..messages import ADDED, Message
from .base import ModelReply, ModelRequest, ModelSettings
from .fields import mapping
from .learned import Learned

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MAX_TEMPERATURE = 2.0
# What services use when none is sent; `extra_temperature` is counted from here.
_USUAL_TEMPERATURE = 1.0


@dataclass(frozen=True, slots=True)
class Asking:
    """A request and whom it is for; `service` tells that one from all others."""

    request: ModelRequest
    settings: ModelSettings
    model: str
    base_url: str
    service: str
    learned: Learned

    @property
    def temperature(self) -> float | None:
        """The one to send; None for the service's own."""
        wanted, extra = self.settings.temperature, self.request.extra_temperature
        if wanted is None and extra <= 0:
            return None
        base = _USUAL_TEMPERATURE if wanted is None else wanted
        return min(max(base + extra, 0.0), _MAX_TEMPERATURE)

    @property
    def tool_choice(self) -> str | None:
        """What is said of the functions, where anything is."""
        return "none" if self.request.functions and not self.request.may_call else None

    def body_of(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """These fields, without those that are None and those that the service refuses."""
        refused = self.learned.refused
        return {k: x for k, x in wanted.items() if x is not None and k not in refused}


class ReplySoFar(Protocol):
    """A reply that is still arriving."""

    @property
    def answered(self) -> bool:
        """Whether anything of an answer came at all."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the service said that it ended here."""
        ...

    def add(self, chunk: Any) -> str:
        """Take in one piece of a stream, or a whole answer; gives the new text in it."""
        ...

    def finished(self, new_id: Callable[[], str], service: str) -> ModelReply:
        """The whole reply of this service. `new_id` names calls without an id of their own."""
        ...


class Wire(Protocol):
    """One API of the client library."""

    @property
    def optional(self) -> tuple[str, ...]:
        """The fields of a request that a service may refuse and can be asked without."""
        ...

    @property
    def compulsory(self) -> Mapping[str, Any]:
        """What its method insists on being given; empty, because all stands in the body."""
        ...

    def create(self, client: AsyncOpenAI) -> Callable[..., Any]:
        """The method that sends a body. Imports what it needs the first time: from a thread."""
        ...

    def body(self, asking: Asking) -> dict[str, Any]:
        """The request as this API has it."""
        ...

    def added_names(self, asking: Asking) -> set[str]:
        """What of the messages goes back to the service as it had added it, by name."""
        ...

    def new_reply(self) -> ReplySoFar:
        """For the pieces of one answer."""
        ...


def added_by(service: str, message: Message) -> Mapping[str, Any]:
    """What this service added to a message; empty where it was another one."""
    added = mapping(message.get(ADDED))
    return added if added.get("service") == service else {}
