"""Messages as agents of other makes write them: A2A leaves spellings open, and versions differ."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.core.results import AudioPart, ImagePart, ResourcePart, TextPart
from xai_mcp_agent.sources.agents.messages import AnswerPart, DataPart, Update, UpdateReader


@pytest.mark.parametrize(
    ("payload", "update"),
    [
        ({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}},
         Update("t", "c", "input_required")),
        ({"status_update": {"task_id": "t", "context_id": "c", "status": {"state": "working"}}},
         Update("t", "c", "working")),
        ({"task": {"id": "t", "status": {"state": "TASK_STATE_CANCELLED"}}},
         Update("t", "", "canceled")),
        ({"msg": {"contextId": "c", "content": [{"text": "hi"}]}},
         Update("", "c", "completed", (TextPart("hi"),))),
        ({"kind": "task", "id": 4, "status": {"state": 4, "message": "no"}, "artifacts": {"a": 1}},
         Update()),
        ({"later": {"taskId": "t"}}, Update()),
    ],
)  # fmt: skip
def test_updates_are_read_in_every_spelling(payload: dict[str, Any], update: Update):
    assert UpdateReader(deep_data=False).read(payload) == update


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"data": {"data": {"a": [1.5, 2.0]}}}, DataPart({"data": {"a": [1.5, 2]}})),
        ({"data": {"value": 1}, "metadata": {"data_part_compat": True}}, DataPart(1)),
        ({"file": {"bytes": "iVBORw==", "mimeType": "image/png"}},
         ImagePart("iVBORw==", "image/png")),
        ({"file": {"file_with_bytes": "iVBORw==", "mime_type": "audio/wav"}},
         AudioPart("iVBORw==", "audio/wav")),
        ({"raw": "JVBERg==", "media_type": "application/pdf", "filename": "a.pdf"},
         ResourcePart("a.pdf", data="JVBERg==", mime_type="application/pdf")),
    ],
)  # fmt: skip
def test_parts_are_read_in_every_spelling(part: dict[str, Any], read: AnswerPart):
    message = {"kind": "message", "parts": [part, {"new": 1}, 4]}
    assert UpdateReader(deep_data=False).read(message).words == (read,)


def test_json_lies_one_level_deeper_over_http_of_the_old_version():
    message = {"content": [{"data": {"data": {"data": {"a": 1.0}}}}]}
    words = UpdateReader(deep_data=True).read({"msg": message}).words
    assert words == (DataPart({"data": {"a": 1}}),)
