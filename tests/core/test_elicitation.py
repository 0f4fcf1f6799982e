"""Questions of servers and their answers, as values."""

from __future__ import annotations

from xai_mcp_agent import Answer, Question, answer_with_defaults


def test_defaults_answer_a_form_only_if_nothing_is_missing():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    assert answer_with_defaults(Question("s", "?", schema)) == Answer.accepted({"a": "x"})
    schema["required"] = ["a", "b"]
    assert answer_with_defaults(Question("s", "?", schema)).action == "decline"
    assert answer_with_defaults(Question("s", "?", url="https://x.org")).action == "decline"
