"""Questions to a person in the lab: shown in the panel if one of its pages is open.

Otherwise a page is served as before, and a line in the output leads to it. The answer comes in a
subshell of the kernel, which works while the run waits; kernels before ipykernel 7 have none.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from secrets import token_hex

from ...console.notebook import is_in_lab, kernel
from ...console.question_page import AnswerPage, serving
from . import channel

_ATTEND_SECONDS = 2.0  # a first run begins before the lab's page has found its kernel
_ID_BYTES = 6
_open = dict[str, AnswerPage]()
_has_page = threading.Event()


def attend(page: str, *, answers: bool) -> None:
    """Register a page of the lab that shows this kernel's runs, and send it the events so far.

    The page `answers` questions if the kernel can take answers.
    """
    if answers:
        _has_page.set()
    runs = [{"events": x.events, "nodes": x.nodes, "is_over": x.is_over} for x in channel.runs]
    questions = [{"id": id, **page_.as_json()} for id, page_ in _open.items()]
    channel.send("Replay", page=page, runs=runs, questions=questions)


def is_attended() -> bool:
    """Return whether the panel can ask; wait a moment for its page."""
    if not is_in_lab() or not getattr(kernel(), "_supports_kernel_subshells", False):
        return False
    return _has_page.wait(_ATTEND_SECONDS)


@contextmanager
def asking(question: AnswerPage, *, in_panel: bool) -> Generator[None]:
    """Show a question during the block: in the panel, or on a page, which then gets an address."""
    if not in_panel:
        with serving(question):
            channel.tell("Page", title=question.as_json()["title"], url=question.url)
            yield
        return
    id = token_hex(_ID_BYTES)
    _open[id] = question
    channel.send("Question", id=id, **question.as_json())
    try:
        yield
    finally:
        del _open[id]
        channel.send("QuestionClosed", id=id)


def answer(id: str, form: Mapping[str, list[str]]) -> None:
    """Take a pressed button; the first answer counts, and an invalid one is asked again."""
    question = _open.get(id)
    if question is None or question.answer.done():
        return
    question.take(form)
    if not question.answer.done():
        channel.send("Question", id=id, **question.as_json())
