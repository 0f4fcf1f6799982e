"""A Python program that answers what servers ask, through a function of its own."""

from __future__ import annotations

import logging

import anyio
import anyio.to_thread

from ..core.elicitation import Answer, Answerer, Question, too_late
from ..core.host import NO_MODEL, Host, Nobody
from ..core.sampling import SamplingRefused, SamplingReply, SamplingRequest

logger = logging.getLogger(__name__)

_NOBODY = Nobody(
    "nobody can be asked where this was called from. Give `answer=` to the Bridge, run the "
    'workflow in a terminal, or set "elicitation": "defaults" for this server in the settings'
)


class CallbackHost:
    """Has a function answer, one question at a time."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self._one_at_a_time = anyio.Lock()

    @property
    def why_nobody(self) -> str:
        """The program is there."""
        return ""

    async def answer(self, question: Question) -> Answer:
        """What the function says. Where it raises, or takes too long, that is no answer."""
        async with self._one_at_a_time:
            try:
                with anyio.fail_after(question.limit_seconds):
                    answer = await anyio.to_thread.run_sync(
                        self._answerer, question, abandon_on_cancel=True
                    )
            except TimeoutError:
                return too_late(question)
            except Exception as cause:
                logger.exception("The program's `answer` raised")
                return Answer.cancelled(f"the program that answers raised {type(cause).__name__}")
        return _checked(answer)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Refuse: a program has no model."""
        raise SamplingRefused(NO_MODEL)


def _checked(answer: object) -> Answer:
    if isinstance(answer, Answer):
        return answer
    given = type(answer).__name__
    logger.error("The program's `answer` gave a %s: return an `Answer`", given)
    return Answer.cancelled(f"the program that answers gave a {given}, not an Answer")


def host_for(answerer: Answerer | None) -> Host:
    """The host of a bridge: the program's function, or nobody."""
    return CallbackHost(answerer) if answerer else _NOBODY
