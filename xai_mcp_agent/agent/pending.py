"""The calls that a run's state has without an answer: made, interrupted, or left for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .calls import Answered, CallRunner
from .conversation import call_message, result_messages
from .events import ToolFinished
from .found_tools import Finds
from .messages import joined
from .results import ResultPages
from .state import RunState
from .toolsets import AgentTools

_CUT_OFF = (
    "Your reply was cut off at the limit of its length, so this call is incomplete and was not "
    "made. Call again with shorter arguments, or one tool at a time."
)


class PendingCalls:
    """Answers the pending calls of one run; the conversation has them together with all answers."""

    def __init__(
        self, tools: AgentTools, pages: ResultPages, runner: CallRunner, finds: Finds
    ) -> None:
        self._tools = tools
        self._pages = pages
        self._runner = runner
        self._finds = finds

    @property
    def has_begun(self) -> bool:
        """Whether anything of this turn was done already."""
        return self._runner.has_begun

    async def answer(self, state: RunState) -> tuple[RunState, list[ToolFinished]]:
        """The state with all answered, or with those that wait for a person; what was done for it.

        Of calls that were made in a process before, nothing is done.
        """
        thought = joined(state.thinking, state.thought)
        if state.cut_off:
            answers = [self._runner.refused(x, _CUT_OFF, thought) for x in state.pending]
            return self._answered(state, answers), [x.event for x in answers]
        answers = await self._runner.answer_all(state, self._tools.shown, thought)
        awaiting = self._runner.awaiting
        done = [x.event for n, x in enumerate(answers) if n not in awaiting and n not in state.made]
        if awaiting:
            return replace(self.so_far(state), awaiting=awaiting), done
        answered = self._answered(state, answers)
        self._finds.learn([x.event for x in answers], self._tools.shown)
        return answered, done

    def so_far(self, state: RunState) -> RunState:
        """The state with what is done of the calls by now, for a process that goes on with it."""
        made = {**state.made, **self._runner.finished}
        begun = {*state.begun, *self._runner.starting}
        return replace(state, made=made, begun=tuple(sorted(x for x in begun if x not in made)))

    def interrupted(self, state: RunState) -> RunState:
        """The state if it all ended here."""
        return self._answered(state, self._runner.answers_so_far(state, ""))

    def _answered(self, state: RunState, answers: Sequence[Answered]) -> RunState:
        """The state after the pending calls, with these answers."""
        texts = self._pages.shown([x.event.result for x in answers])
        answered = [(x.call, text, x.event.result) for x, text in zip(answers, texts, strict=True)]
        # A search finds also what came since the model was asked.
        found = self._finds.of([x.event for x in answers], self._tools.shown)
        return state.finding(found).answered(
            call_message(state.thought, state.pending, added=state.added),
            *result_messages(answered),
            failed=all(x.is_error for x in answers),
            kept=self._pages.texts,
        )
