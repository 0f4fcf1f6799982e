"""The transcript of a workflow's run: which of its agents and nodes write into it, and what."""

from __future__ import annotations

import uuid
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.transcript import Recorder, transcript_file
from .agents import learn_keys
from .lab_channel import is_in_lab
from .panel.recorder import PanelRecorder
from .workshop.run import lesson_run

_RUN_KEY = "mcp_run"


def recorder(ctx: Any, bridge: Bridge, **who: str) -> Recorder:
    """The recorder for one agent or node of this run; it knows the keys of all agents in it."""
    file, lesson = transcript_file(), lesson_run(ctx)
    if not file and lesson is None and not is_in_lab():
        return Recorder("", who)
    run = ctx.setdefault(_RUN_KEY, uuid.uuid4().hex[:8])
    learn_keys(ctx, bridge.settings.secrets)
    secrets, listen = [bridge.settings.secrets], lesson.note if lesson else None
    kind = PanelRecorder if is_in_lab() else Recorder
    return kind(file, {"run": run, **who}, secrets, listen)
