"""A real IPython kernel, driven as the lab's Run button drives it; every wait is bounded."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from xai_mcp_agent.canvas.panel import channel

from .processes import wait_until
from .scripts import child_environment

_START_SECONDS = 60.0  # a kernel's start on a busy machine
_RUN_SECONDS = 60.0
_PROMPT_SECONDS = 30.0  # an interrupt is answered within three, and the machine may be busy
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class CellResult:
    """Result of a piece of code; `error` is an exception's name, `traceback` its text.

    `displayed` has the richer outputs, by their kind, `events` what the lab's panel gets.
    """

    output: str
    errors: str
    error: str
    traceback: str = ""
    displayed: tuple[dict[str, Any], ...] = ()
    events: tuple[dict[str, Any], ...] = ()


class Kernel:
    """A kernel that runs; made by `kernel`."""

    def __init__(self, manager: KernelManager) -> None:
        self._manager = manager
        self._client = _new_client(manager)
        self._on_event: Callable[[dict[str, Any]], None] | None = None

    def move(self, folder: Path, **variables: str) -> Kernel:
        """Have all that follows run in this folder, with these variables; start anew if it ended.

        No name of an earlier test is left, though modules are.
        """
        if not self._manager.is_alive():
            self.restart()
        environment = child_environment(folder, **variables)
        result = self.run(
            f"%reset -f\nimport os; os.chdir({str(folder)!r})\n"
            "for name in [x for x in os.environ if x.startswith('XAI_')]: del os.environ[name]\n"
            f"os.environ.update({environment!r})"
        )
        assert not result.error, result.traceback
        return self

    def run(
        self, code: str, on_event: Callable[[dict[str, Any]], None] | None = None
    ) -> CellResult:
        """Run code to its end; `on_event` is given what the lab's panel gets, as it comes."""
        self._on_event = on_event
        return self._collect(self._client.execute(code))

    def value(self, expression: str) -> str:
        """Return the `repr` of an expression."""
        return self.run(f"print(repr({expression}))").output.strip()

    def interrupt_once(self, condition: Callable[[], bool], code: str) -> CellResult:
        """Start code, interrupt it when `happened` says so, and wait for its end."""
        request_id = self._client.execute(code)
        wait_until(condition, "the code was where it should be interrupted")
        self._manager.interrupt_kernel()
        return self._collect(request_id, _PROMPT_SECONDS)

    def restart(self) -> None:
        """As Restart Kernel does: asked to end, and killed when it does not."""
        self._client.stop_channels()
        self._manager.restart_kernel(now=False)
        self._client = _new_client(self._manager)

    def close(self) -> None:
        """End it, politely first."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=False)
        self._manager.cleanup_resources()

    def end_by(self, number: int) -> None:
        """Send the kernel a signal that ends it, and wait for that."""
        self._manager.signal_kernel(number)
        wait_until(lambda: not self._manager.is_alive(), "the kernel ended")

    def begin(self, condition: Callable[[], bool], code: str) -> None:
        """Start code that will not end by itself, and wait until it is where it should be."""
        self._client.execute(code)
        wait_until(condition, "the code was where it should be")

    def _collect(self, request_id: str, limit: float = _RUN_SECONDS) -> CellResult:
        ends_at = time.monotonic() + limit
        texts, error, traceback = {"stdout": "", "stderr": ""}, "", ""
        displayed: list[dict[str, Any]] = []
        events: list[dict[str, Any]] = []
        while True:
            message = self._next(ends_at)
            if message["parent_header"].get("msg_id") != request_id:
                continue
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    texts[content["name"]] += content["text"]
                case "error":
                    error, traceback = content["ename"], "\n".join(content["traceback"])
                case "display_data":
                    displayed.append(content["data"])
                case "status" if content["execution_state"] == "idle":
                    rich = tuple(displayed), tuple(events)
                    return CellResult(texts["stdout"], texts["stderr"], error, traceback, *rich)
                case channel.MESSAGE:
                    events.append(content)
                    if self._on_event:
                        self._on_event(content)
                case _:
                    pass

    def _next(self, ends_at: float) -> dict[str, Any]:
        while time.monotonic() < ends_at:
            try:
                return self._client.get_iopub_msg(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if not self._manager.is_alive():
                    raise AssertionError("the kernel died") from None
        raise AssertionError("the code did not end in time")


@contextmanager
def kernel(folder: Path, **variables: str) -> Generator[Kernel]:
    """Run a kernel in `folder` for the length of the block."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder), env=child_environment(folder, **variables))
    try:
        running = Kernel(manager)
    except BaseException:
        manager.shutdown_kernel(now=True)
        raise
    try:
        yield running
    finally:
        running.close()


def _new_client(manager: KernelManager) -> BlockingKernelClient:
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=_START_SECONDS)
    return client
