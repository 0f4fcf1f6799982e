"""A server's requests to the model of whoever calls it: allowed by the settings, within limits."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ....core.host import Host
from ....core.sampling import (
    SamplingMessage,
    SamplingRefused,
    SamplingReply,
    SamplingRequest,
    ToolUse,
    ToolUseResult,
)
from ....core.visible import visible_text
from ....settings.server import ServerSettings
from .. import results
from ..pending import WHOSE_IS_IT, Pending
from .log import logger_of

if TYPE_CHECKING:
    import mcp_types as types

logger = logging.getLogger(__name__)

_MOST_CHARS = 200_000  # of what the model is told before all else
_REJECTED = -1  # the protocol's code for a person's no


class Sampling:
    """The requests of one connection's server."""

    def __init__(self, settings: ServerSettings, pending: Pending) -> None:
        self._settings = settings
        self._pending = pending

    def offered(self) -> dict[str, Any]:
        """The arguments of the SDK's client that offer it; none where it is not allowed."""
        if self._settings.sampling != "allow":
            return {}
        import mcp_types as types  # as heavy as the SDK, which is loaded when this is called

        tools = types.SamplingCapability(tools=types.SamplingToolsCapability())
        return {"sampling_callback": self.answer, "sampling_capabilities": tools}

    async def answer(
        self, _context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """The SDK's callback. Never raises: what goes wrong here is told to the server."""
        import mcp_types as types

        try:
            reply = await self._reply(params)
        except SamplingRefused as reason:
            return types.ErrorData(code=_REJECTED, message=self._refused(str(reason)))
        except Exception as cause:
            logger.exception("asking the model for %s failed", self._settings.name)
            why = f"the model could not be asked ({type(cause).__name__})"
            return types.ErrorData(code=types.INTERNAL_ERROR, message=self._refused(why))
        return _result_of(reply, with_tools=bool(params.tools))

    async def _reply(self, params: types.CreateMessageRequestParams) -> SamplingReply:
        asker = self._asker()
        with self._pending.paused():
            return await asker.sample(_request_of(params, self._settings))

    def _asker(self) -> Host:
        """Whoever makes the call; its model is that of nobody else."""
        if (asker := self._pending.asker()) is None:
            raise SamplingRefused(WHOSE_IS_IT)
        asking = self._pending.asking()
        limit = self._settings.sampling_max_calls
        if asking:
            asking[-1].samples += 1
            if asking[-1].samples > limit:
                raise SamplingRefused(f"one call may ask the model {limit} times at most")
        return asker

    def _refused(self, reason: str) -> str:
        text = f"A request to the model was refused: {reason.rstrip('.')}."
        self._pending.note(text)
        logger_of(self._settings.name).warning("%s", text)
        return text


def _request_of(
    params: types.CreateMessageRequestParams, settings: ServerSettings
) -> SamplingRequest:
    choice = params.tool_choice.mode if params.tool_choice else None
    return SamplingRequest(
        server=settings.name,
        messages=tuple(
            SamplingMessage(x.role, tuple(_part_of(block) for block in x.content_as_list))
            for x in params.messages
        ),
        max_tokens=max(1, min(params.max_tokens, settings.sampling_max_tokens)),
        system=visible_text(params.system_prompt or "", _MOST_CHARS),
        temperature=params.temperature,
        stop_sequences=tuple(params.stop_sequences or ()),
        tools=tuple(results.tool_of(settings.name, x) for x in params.tools or ()),
        may_use_tools=choice != "none",
    )


def _part_of(block: Any) -> Any:
    match block.type:
        case "tool_use":
            return ToolUse(block.id, block.name, block.input)
        case "tool_result":
            parts = tuple(results.seen_part(results.part_of(x)) for x in block.content)
            return ToolUseResult(block.tool_use_id, parts, bool(block.is_error))
        case _:
            return results.seen_part(results.part_of(block))


def _result_of(
    reply: SamplingReply, *, with_tools: bool
) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
    import mcp_types as types

    text = types.TextContent(text=reply.text)
    if not with_tools:
        return types.CreateMessageResult(
            role="assistant", content=text, model=reply.model, stop_reason=reply.stop
        )
    uses = [types.ToolUseContent(id=x.id, name=x.name, input=x.arguments) for x in reply.uses]
    return types.CreateMessageResultWithTools(
        role="assistant",
        content=[*([text] if reply.text or not uses else []), *uses],
        model=reply.model,
        stop_reason=reply.stop,
    )
