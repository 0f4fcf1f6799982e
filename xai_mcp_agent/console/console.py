"""Prints one run: its turns, tool calls with their results, waits, errors, totals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
from .screen import SCREEN, Clock, Screen, Voice, Waiting
from .surface import Detail, detail_of_environment, detail_on
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

T = TypeVar("T")

_BODY = "    "
_RESULT_LINES = 6
_ERROR_LINES, _ERROR_CHARS = 20, 2_000  # the next step stands at the end
_MODEL, _SERVERS, _PERSON = "model", "servers", "person"
_MOST_NAMES = 20  # of tools in a line
_MOST_LEFT_OUT = 3  # at once, a line for each
_STOPPED = {
    "max_thoughts": "out of thoughts: raise `max_thoughts` of AgentInit for more turns",
    "limit": "at its limit: raise `max_run_tokens` or `max_run_cost` of AgentInit",
    "length": "cut off at the output limit: raise `max_output_tokens` of AgentInit",
    "refused": "refused by the model",
}
_told_faults: set[str] = set()  # about the environment, which is the same for all runs


class Console:
    """Shows one run, in the thread of its workflow and within a `with` block.

    `show` is how much, as a person wrote it on a port; else as the run that this one is part of;
    else as the environment says.

    Raises:
        BadSetting: `show` is none of the choices.
    """

    _voice: Voice

    def __init__(
        self, name: str, show: Any = None, *, screen: Screen = SCREEN, clock: Clock = time.monotonic
    ) -> None:
        self._name = clean(name)
        self._detail = detail_on(show)
        self._screen = screen
        self._clock = clock
        self._waiting = Waiting(clock)
        self._mask: Mask = as_it_is
        self._flow: Flow | None = None  # of the text that is being streamed
        self._streams = self._has_spoken = False  # at all; in this turn
        self._gutter = self._body = ""  # before the next line, before all further ones
        self._model = ""
        self._shown_tools = frozenset[str]()
        self._left_out = frozenset[str]()
        self._step = 0
        self._asked_at = 0.0

    def __enter__(self) -> Console:
        around = self._screen.current()
        detail, fault = self._detail, ""
        if detail is None and around is not None:
            detail = around.detail
        if detail is None:
            detail, fault = detail_of_environment()
        self._voice = self._screen.enter(self._name, detail)
        if fault and fault not in _told_faults:
            _told_faults.add(fault)
            self._say("!!", fault)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end_speech()
        finally:
            self._screen.leave(self._voice)

    def hide(self, mask: Mask) -> None:
        """Have secrets hidden, in all that strangers say, from now on."""
        self._mask = mask

    def masked(self, text: str) -> str:
        """The text without the secrets that are hidden here."""
        return self._mask(text)

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
                self._streams = protocol == "native"
                self._say("--", f"the service takes no functions; {protocol} protocol from here")
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

    def servers_awaited(self, names: Sequence[str]) -> None:
        """These servers are waited for from now on; none: they are there."""
        if not names:
            self._waiting.end(_SERVERS)
            return
        what = f"the server{'s' if len(names) > 1 else ''} {', '.join(names)}"
        self._waiting.begin(_SERVERS, what, anew=False)

    def wait_for(self, what: str) -> None:
        """This is waited for from now on, to the end of the run."""
        self._waiting.begin(what, what)

    def tick(self) -> None:
        """Tell what is waited for, if it is time to; called whenever nothing else happens."""
        if self._voice.detail == Detail.QUIET:
            return
        if self._flow is not None:
            self._screen.stream(self._voice, self._flow.rest())
            self._screen.let_others(self._voice)
        rewrites = self._screen.can_rewrite(self._voice)
        text = self._waiting.to_rewrite() if rewrites else self._waiting.to_add()
        if not text:
            return
        if self._flow is not None:  # it has stopped for long; it goes on below
            self._voice.lines()
            self._flow = Flow(self._voice.width, self._body, self._body, self._mask)
        if rewrites:
            self._screen.show_status(self._voice, f"{self._body}.. {clean(text)}")
        else:
            self._say("..", text, in_body=True)

    def aside(self, do: Callable[[], T]) -> T:
        """Run a person's nodes, which may print what they like."""
        self._end_speech()
        self._voice.lines()
        return do()

    def tell(self, mark: str, text: str) -> None:
        """Write a line that a person must see, however little is wanted."""
        self._say(mark, text)

    def ask(self, prompt: str, read: Callable[[], str]) -> str:
        """Write a prompt, cleaned of what would act on a terminal, and read what is typed."""
        self._end_speech()
        shown = " ".join(clean(self._mask(prompt)).split())
        return self._screen.ask(self._voice, f"{self._body}   {shown} ", read)

    def link(self, text: str, url: str) -> None:
        """In the lab: a line with a link to a page of ours."""
        self._end_speech()
        self._voice.link(clean(self._mask(text)), url)

    def person_awaited(self, server: str, what: str = "") -> None:
        """The person is waited for from now on, because of this server; nothing: not any more."""
        key = f"{_PERSON} {server}"
        if what:
            self._waiting.begin(key, what)
        else:
            self._waiting.end(key)

    def note(self, mark: str, text: str) -> None:
        """Write a line, unless only what went wrong is wanted."""
        if self._voice.detail != Detail.QUIET:
            self._say(mark, text)

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
        # In the text protocol the calls stand in the text; it is shown when they are taken out.
        self._streams = event.protocol == "native"
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
        self._say("--", f"{event.reason}: asked again{when}{anew}")
        self._waiting.begin(_MODEL, f"the model {self._model}".rstrip())

    def _stream(self, text: str) -> None:
        if not self._streams:
            return
        self._waiting.begin(_MODEL, f"the model {self._model} to go on", in_speech=True)
        text = clean(text)
        if self._flow is None:
            text = text.lstrip()
            if not text:
                return
            self._flow = Flow(self._voice.width, self._take_gutter(), self._body, self._mask)
            self._has_spoken = True
        self._screen.stream(self._voice, self._flow.feed(text))

    def _thought(self, event: ThoughtFinished) -> None:
        self._waiting.end(_MODEL)
        self._end_speech()
        has_spoken, self._has_spoken = self._has_spoken, False
        if event.text.strip() and not has_spoken:
            said = self._mask(event.text.strip())
            text = _joined(excerpt(said, self._voice.width - len(_BODY), None))
            self._put(text, self._take_gutter(), self._body)
        if self._voice.detail == Detail.VERBOSE:
            took = f"took {self._clock() - self._asked_at:.1f} s"
            self._say("--", ", ".join(x for x in (took, tokens_text(event.usage)) if x))

    def _started_tool(self, event: ToolStarted) -> None:
        is_whole = self._voice.detail == Detail.VERBOSE
        limit = MOST_CHARS if is_whole else ARGUMENT_CHARS
        self._say("->", f"{event.tool}({short_arguments(event.arguments, self._mask, limit)})")
        self._waiting.begin(event.call_id, event.tool)

    def _progress(self, event: ToolProgressed) -> None:
        told = progress_text(event.done, event.total, event.message)
        self._waiting.tell(self._mask(f"{event.tool} {told}"))
        self.tick()

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
            self._say("  ", f"note: {note}")

    def _show_text(self, mark: str, title: str, text: str) -> None:
        """A long text under its title, or a short one beside it; in the lab the rest is folded."""
        text = self._mask(text)  # before anything is cut: half a secret is not known
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
            whole = excerpt(laid_out(text, 2), MOST_CHARS, None)
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
            self._say("++", f"new tools: {listed(added, _MOST_NAMES)}")
        if removed:
            self._say("--", f"gone: {listed(removed, _MOST_NAMES)}")

    def _selected(self, selection: Selection) -> None:
        """What is shown of many tools: how many at first, then what had no room."""
        shown = frozenset(x.definition.name for x in selection.shown)
        before, self._shown_tools = self._shown_tools, shown
        if not selection.is_whole and (not before or self._voice.detail == Detail.VERBOSE):
            self._say("--", selection.in_short)
        left_out = [x for x in selection.left_out if x.definition.name not in self._left_out]
        for one in left_out[:_MOST_LEFT_OUT]:
            self._say("--", f"not shown: {one.definition.name} ({one.why})")
        if (more := len(left_out) - _MOST_LEFT_OUT) > 0:
            self._say("--", f"nor are {more:,} more")
        self._left_out |= {x.definition.name for x in left_out}

    def _folded(self, event: ConversationFolded) -> None:
        gone = "summed up" if event.summed_up else "not"
        ways = ((event.shortened, "in part"), (event.left_out, gone))
        sent = " and ".join(f"{count(number, 'message')} {how}" for number, how in ways if number)
        size = f"{event.tokens:,} of {event.window_tokens:,} tokens"
        self._say("--", f"to fit the model's window, {sent} sent from here: about {size}")

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
        self._say("!!", text, style="red")

    def _say(self, mark: str, text: str, *, style: Style = "", in_body: bool = False) -> None:
        """Write lines that begin with a mark."""
        self._end_speech()
        first = self._body if in_body else self._take_gutter()
        shown = self._mask(text)
        self._voice.lines(*marked_lines(mark, shown, self._voice.width, first, self._body, style))

    def _put(self, text: str, first: str, after: str, style: Style = "") -> None:
        lines = wrap(text, self._voice.width, first, after)
        self._voice.lines(*(Line(x, style) for x in lines))

    def _end_speech(self) -> None:
        """End what was streamed, finished or broken off."""
        if self._flow is not None:
            self._screen.stream(self._voice, self._flow.rest())
            self._flow = None
            self._voice.lines()

    def _short_error(self, result: ToolResult) -> str:
        text = self._mask(result.text.strip()) or "it failed and did not say why."
        return opening(text, _ERROR_LINES, _ERROR_CHARS)

    def _take_gutter(self) -> str:
        """What stands before the next line: the number of the turn, once."""
        gutter, self._gutter = self._gutter, self._body
        return gutter


def _joined(shown: Excerpt) -> str:
    return "\n".join([*shown.lines, *([shown.more] if shown.more else [])])
