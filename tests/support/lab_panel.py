"""The panel at the right of the lab: its box, the turns of its chat, and the questions of runs."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .lab_canvas import FRONT, Canvas, wait_for_page

_SECONDS = 60.0

expect.set_options(timeout=30_000)  # on a busy machine


class Panel:
    """The panel of a window."""

    def __init__(self, canvas: Canvas) -> None:
        self.page = canvas.page
        self.canvas = canvas
        self.box = self.page.locator(".xai-box textarea")
        self.turns = self.page.locator(".xai-turn")
        self.questions = self.page.locator(".xai-form")
        self.bar = self.page.locator(".xai-bar")
        self._bubble = self.page.locator('.lm-TabBar-tab[data-id="xai-mcp-agent-chat"]')

    def open(self) -> Panel:
        """Press Alt+Q until the cursor is in the box: a lab that still opens takes it away."""

        def is_open() -> bool:
            self.page.keyboard.press("Alt+q")
            return self.box.evaluate("x => x.disabled || x === document.activeElement")

        wait_for_page(is_open, "the cursor is in the box")
        return self

    def open_by_hand(self) -> Panel:
        """Press the speech bubble, and click into the box."""
        self._bubble.click()
        self.box.click()
        return self

    def close(self) -> None:
        """Press the speech bubble where the panel is open."""
        if self.box.is_visible():
            self._bubble.click()
            self.box.wait_for(state="hidden")

    def begin_anew(self) -> Panel:
        """Open it, and press New conversation if there is one."""
        self.open()
        path = self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
        expect(self.page.locator(".xai-head b")).to_have_attribute("title", path)
        expect(self.page.locator(".xai-chat")).to_have_attribute("aria-busy", "false")
        expect(self.bar).to_be_hidden()  # a run that goes on has its conversation
        anew = self.button("New conversation")
        if anew.is_enabled():
            anew.click()
        expect(self.turns).to_have_count(0)
        return self

    def ask(self, question: str) -> str:
        """Type a question, press Enter, and wait for the end of its run; what the turn shows."""
        self.send(question)
        return self.answer()

    def send(self, question: str) -> None:
        """Put a question into the box and press Enter."""
        count = self.turns.count()
        self.box.focus()
        self.page.keyboard.insert_text(question)
        self.page.keyboard.press("Enter")
        expect(self.turns).to_have_count(count + 1)

    def run(self) -> str:
        """Press the button with an empty box, and wait for the end of the run."""
        count = self.turns.count()
        self.button("▶ Run").click()
        expect(self.turns).to_have_count(count + 1)
        return self.answer()

    def answer(self, state: str | None = None) -> str:
        """Wait for the end of the last turn's run; what it shows."""
        last = self.turns.last
        expect(last).not_to_have_attribute("data-state", "running", timeout=_SECONDS * 1_000)
        if state:
            expect(last).to_have_attribute("data-state", state)
        return last.inner_text().replace("\xa0", " ")

    def unfold(self) -> str:
        """Open the folds of the last turn; what it shows."""
        folds = self.turns.last.locator("details:not([open]) > summary")
        while folds.count():
            folds.first.click()
        return self.turns.last.inner_text().replace("\xa0", " ")

    def button(self, name: str) -> Locator:
        """A button of the panel by what it says."""
        return self.page.locator("#xai-mcp-agent-chat").get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        """Press a button of the question that waits, and wait until it is gone."""
        question = self.questions.first
        question.wait_for()
        text = question.inner_text()
        question.get_by_role("button", name=name, exact=True).click()
        expect(self.questions.filter(has_text=text.splitlines()[0])).to_have_count(0)

    def mark(self, node: str) -> str:
        """The mark of a node, by its name; empty if it has none."""
        script = "x => getComputedStyle(x, '::after').content.replace(/^none$|\"/g, '')"
        return self.page.locator(
            f'{FRONT} div.node:has(> [data-default-node-name="{node}"]), '
            f'{FRONT} div.node[data-default-node-name="{node}"]'
        ).first.evaluate(script)
