"""The lines of one run: its turns, tool calls with their results, errors, totals."""

from __future__ import annotations

from ..agent.events import (
    ConversationFolded,
    ModelAsked,
    ModelAskedAgain,
    ProtocolChanged,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolProgressed,
    ToolReturned,
    ToolsChanged,
    ToolsSelected,
    ToolStarted,
)
from ..agent.models.base import ModelRequest
from ..core.names import listed
from ..core.results import ToolResult
from ..core.schemas import signature
from ..search.selector import Selection
from .screen import Clock, Screen, Voice, Waiting
from .surface import Detail
from .text import (
    ARGUMENT_CHARS,
    MOST_CHARS,
    Excerpt,
    Flow,
    Line,
    Mask,
    Style,
    as_it_is,
    clean,
    columns,
    count,
    excerpt,
    laid_out,
    marked_line,
    marked_lines,
    opening,
    progress_text,
    short_arguments,
    tokens_text,
    wrap,
)

_BODY = "    "
_RESULT_LINES = 6
_ERROR_LINES, _ERROR_CHARS = 20, 2_000  # the next step stands at the end
_MODEL = "model"
_MOST_NAMES = 20  # of tools in a line
_MOST_LEFT_OUT = 3  # at once, a line for each
_STOPPED = {
    "max_thoughts": "out of thoughts: raise `max_thoughts` of AgentInit for more turns",
    "limit": "at its limit: raise `max_run_tokens` or `max_run_cost` of AgentModel",
    "length": "cut off at the output limit: raise `max_output_tokens` of AgentModel",
    "refused": "refused by the model",
}


class RunLines:
    """Writes the events of one run as lines, in the thread of its workflow.

    `waiting` is told what is waited for. `mask` hides secrets in all that strangers say.
    """

    def __init__(
        self, name: str, screen: Screen, voice: Voice, waiting: Waiting, clock: Clock
    ) -> None:
        self.mask: Mask = as_it_is
        self._name = name
        self._screen = screen
        self._voice = voice
        self._waiting = waiting
        self._clock = clock
        self._flow: Flow | None = None  # of the text that is being streamed
        self._has_spoken = False  # in this turn
        self._gutter = self._body = ""  # before the next line, before all further ones
        self._model = ""
        self._shown_tools = frozenset[str]()
        self._left_out = frozenset[str]()
        self._step = 0
        self._asked_at = 0.0

    @property
    def indent(self) -> str:
        """What stands before the lines that belong to the run."""
        return self._body

    def show(self, event: RunEvent) -> None:
        """Write one event."""
        if self._voice.detail == Detail.QUIET:
            self._show_trouble(event)
            return
        match event:
            case TextArrived(text):
                self._stream(text)
            case RunStarted():
                self._started(event)
            case ModelAsked():
                self._asked(event)
            case ModelAskedAgain():
                self._asked_again(event)
            case ThoughtFinished():
                self._thought(event)
            case ToolStarted():
                self._started_tool(event)
            case ToolProgressed():
                self._progress(event)
            case ToolReturned(call_id):
                self._waiting.end(call_id)
            case ToolFinished():
                self._finished_tool(event)
            case ProtocolChanged(protocol):
                self.say("--", f"the service takes no functions; {protocol} protocol from here")
            case ToolsChanged(added, removed):
                self._changed(added, removed)
            case ToolsSelected(_, selection):
                self._selected(selection)
            case ConversationFolded():
                self._folded(event)
            case RunFinished():
                self._finished(event)
            case RunFailed(error):
                self._waiting.end_all()
                self._failed(f"{self._name} stopped: {error}")

    def tick(self) -> None:
        """Write what is held of a text that pauses, and what is waited for, if it is time to."""
        if self._flow is not None:
            self._screen.stream(self._voice, self._flow.rest())
            self._screen.let_others(self._voice)
        rewrites = self._screen.can_rewrite(self._voice)
        text = self._waiting.to_rewrite() if rewrites else self._waiting.to_add()
        if not text:
            return
        if self._flow is not None:  # it has stopped for long; it goes on below
            self._voice.lines()
            self._flow = Flow(self._voice.width, self._body, self._body, self.mask)
        if rewrites:
            self._screen.show_status(self._voice, f"{self._body}.. {clean(text)}")
        else:
            self.say("..", text, in_body=True)

    def _show_trouble(self, event: RunEvent) -> None:
        """All that is said when only what went wrong is wanted."""
        match event:
            case RunStarted(left_out=left_out):
                for reason in left_out:
                    self._failed(f"{self._name}, left out: {reason}")
            case ToolFinished(tool=tool, result=result) if result.is_error:
                self._failed(f"{self._name}, {tool}: {self._short_error(result)}")
            case RunFinished(stopped=stopped) if stopped in _STOPPED:
                self._failed(f"{self._name} ended {_STOPPED[stopped]}")
            case RunFailed(error):
                self._failed(f"{self._name} stopped: {error}")
            case _:
                pass

    def _started(self, event: RunStarted) -> None:
        self._waiting.end_all()
        self._model = event.model
        tools = count(len(event.tool_names), "tool")
        title = f"== {event.agent}: {event.model}, {tools}, {event.protocol} protocol"
        self._put(title, "", "   ", "bold")
        self._gutter = self._body = _BODY
        for reason in event.left_out:
            self._failed(f"left out: {reason}")

    def _asked(self, event: ModelAsked) -> None:
        self._asked_at = self._clock()
        self._waiting.begin(_MODEL, f"the model {self._model}".rstrip())
        if event.step == self._step:
            return
        self._step = event.step
        if event.step == 1 and self._voice.detail == Detail.VERBOSE:
            self._show_request(event.request)
        self._gutter = f"{event.step:2}. "

    def _asked_again(self, event: ModelAskedAgain) -> None:
        anew = "; the reply begins anew" if self._has_spoken else ""
        self._has_spoken = False
        when = f" in {event.pause_seconds:.1f} s" if event.pause_seconds else ""
        self.say("--", f"{event.reason}: asked again{when}{anew}")
        self._waiting.begin(_MODEL, f"the model {self._model}".rstrip())

    def _stream(self, text: str) -> None:
        self._waiting.begin(_MODEL, f"the model {self._model} to go on", in_speech=True)
        text = clean(text)
        if self._flow is None:
            text = text.lstrip()
            if not text:
                return
            self._flow = Flow(self._voice.width, self._take_gutter(), self._body, self.mask)
            self._has_spoken = True
        self._screen.stream(self._voice, self._flow.feed(text))

    def _thought(self, event: ThoughtFinished) -> None:
        self._waiting.end(_MODEL)
        self.end_speech()
        has_spoken, self._has_spoken = self._has_spoken, False
        if event.text.strip() and not has_spoken:
            said = self.mask(event.text.strip())
            text = _joined(excerpt(said, self._voice.width - len(_BODY), None))
            self._put(text, self._take_gutter(), self._body)
        if self._voice.detail == Detail.VERBOSE:
            took = f"took {self._clock() - self._asked_at:.1f} s"
            self.say("--", ", ".join(x for x in (took, tokens_text(event.usage)) if x))

    def _started_tool(self, event: ToolStarted) -> None:
        is_whole = self._voice.detail == Detail.VERBOSE
        limit = MOST_CHARS if is_whole else ARGUMENT_CHARS
        self.say("->", f"{event.tool}({short_arguments(event.arguments, self.mask, limit)})")
        self._waiting.begin(event.call_id, event.tool)

    def _progress(self, event: ToolProgressed) -> None:
        told = progress_text(event.done, event.total, event.message)
        self._waiting.tell(self.mask(f"{event.tool} {told}"))

    def _finished_tool(self, event: ToolFinished) -> None:
        self._waiting.end(event.call_id)
        title = f"{event.tool} ({event.seconds:.2f} s)"
        if event.result.is_error:
            self._failed(f"{title}: {self._short_error(event.result)}")
            return
        text = event.result.text.strip() or "(nothing)"
        is_whole = self._voice.detail == Detail.VERBOSE
        self._show_text("<-", title, text if is_whole else laid_out(text, None))
        for note in event.result.notes:
            self.say("  ", f"note: {note}")

    def _show_text(self, mark: str, title: str, text: str) -> None:
        """A long text under its title, or a short one beside it; in the lab the rest is folded."""
        text = self.mask(text)  # before anything is cut: half a secret is not known
        voice, first, after = self._voice, self._take_gutter(), f"{self._body}   "
        line = clean(f"{mark} {title}: {text[: voice.width]}")
        if "\n" not in text and columns(line) + len(first) <= voice.width:
            voice.lines(marked_line(mark, first + line))
            return
        is_whole = voice.detail == Detail.VERBOSE and voice.surface.kind != "lab"
        shown = excerpt(text, voice.width - len(after), None if is_whole else _RESULT_LINES)
        voice.lines(
            marked_line(mark, f"{first}{mark} {clean(title)}"),
            *(Line(f"{after}{x}".rstrip()) for x in shown.lines),
        )
        if shown.more:
            self._show_rest(shown.more, text, len(after))

    def _show_rest(self, more: str, text: str, indent: int) -> None:
        if self._voice.surface.kind == "lab":
            # Masked again: laying it out spells out what JSON escapes.
            whole = excerpt(self.mask(laid_out(text, 2)), MOST_CHARS, None)
            self._voice.fold(more, _joined(whole), indent)
        else:
            self._voice.lines(Line(" " * indent + more, "faint"))

    def _show_request(self, request: ModelRequest) -> None:
        """What the model is told before anything was said."""
        for message in request.messages[:1]:
            if message.get("role") == "system":
                self._show_text("--", "system prompt", str(message.get("content")))
        tools = [
            f"{x.name}({signature(x.parameters)}): {' '.join(x.description.split())}"
            for x in request.functions
        ]
        if tools:
            self._show_text("--", count(len(tools), "tool"), "\n".join(tools))

    def _changed(self, added: tuple[str, ...], removed: tuple[str, ...]) -> None:
        if added:
            self.say("++", f"new tools: {listed(added, _MOST_NAMES)}")
        if removed:
            self.say("--", f"gone: {listed(removed, _MOST_NAMES)}")

    def _selected(self, selection: Selection) -> None:
        """What is shown of many tools: how many at first, then what had no room."""
        shown = frozenset(x.definition.name for x in selection.shown)
        before, self._shown_tools = self._shown_tools, shown
        if not selection.is_whole and (not before or self._voice.detail == Detail.VERBOSE):
            self.say("--", selection.in_short)
        left_out = [x for x in selection.left_out if x.definition.name not in self._left_out]
        for one in left_out[:_MOST_LEFT_OUT]:
            self.say("--", f"not shown: {one.definition.name} ({one.why})")
        if (more := len(left_out) - _MOST_LEFT_OUT) > 0:
            self.say("--", f"nor are {more:,} more")
        self._left_out |= {x.definition.name for x in left_out}

    def _folded(self, event: ConversationFolded) -> None:
        gone = "summed up" if event.summed_up else "not"
        ways = ((event.shortened, "in part"), (event.left_out, gone))
        sent = " and ".join(f"{count(number, 'message')} {how}" for number, how in ways if number)
        size = f"{event.tokens:,} of {event.window_tokens:,} tokens"
        self.say("--", f"to fit the model's window, {sent} sent from here: about {size}")

    def _finished(self, event: RunFinished) -> None:
        self._waiting.end_all()
        parts = [
            count(event.steps, "turn"),
            count(event.tool_calls, "tool call"),
            f"{event.seconds:.1f} s",
            tokens_text(event.usage),
        ]
        if event.stopped in _STOPPED:
            self._failed(_STOPPED[event.stopped])
        self._gutter = self._body = ""
        ways = {"answered": "is done", "waiting": "waits for approval"}
        how = ways.get(event.stopped, f"ended ({event.stopped})")
        text = f"== {self._name} {how}: {', '.join(x for x in parts if x)}"
        self._put(text, "", "   ", "bold")

    def _failed(self, text: str) -> None:
        self.say("!!", text, style="red")

    def say(self, mark: str, text: str, *, style: Style = "", in_body: bool = False) -> None:
        """Write lines that begin with a mark."""
        self.end_speech()
        first = self._body if in_body else self._take_gutter()
        shown = self.mask(text)
        self._voice.lines(*marked_lines(mark, shown, self._voice.width, first, self._body, style))

    def _put(self, text: str, first: str, after: str, style: Style = "") -> None:
        lines = wrap(text, self._voice.width, first, after)
        self._voice.lines(*(Line(x, style) for x in lines))

    def end_speech(self) -> None:
        """End what was streamed, finished or broken off."""
        if self._flow is not None:
            self._screen.stream(self._voice, self._flow.rest())
            self._flow = None
            self._voice.lines()

    def _short_error(self, result: ToolResult) -> str:
        text = self.mask(result.text.strip()) or "it failed and did not say why."
        return opening(text, _ERROR_LINES, _ERROR_CHARS)

    def _take_gutter(self) -> str:
        """What stands before the next line: the number of the turn, once."""
        gutter, self._gutter = self._gutter, self._body
        return gutter


def _joined(shown: Excerpt) -> str:
    return "\n".join([*shown.lines, *([shown.more] if shown.more else [])])
