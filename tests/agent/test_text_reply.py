"""What small models really write, and what is read from it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.agent.text_reply import TextCall, parse_reply

ADD = TextCall("add", '{"a": 1}')
PLAIN_ONES = [
    'TOOL: add {"a": 1}',
    'TOOL:add {"a": 1}',
    'Tool: add {"a": 1}',
    '**TOOL:** add {"a": 1}',
    '**TOOL: add** {"a": 1}',
    '`TOOL: add {"a": 1}`',
    '- TOOL: add {"a": 1}',
    '1. TOOL: add {"a": 1}',
    'TOOL: `add` {"a": 1}',
    'TOOL: "add" {"a": 1}',
    'TOOL: add: {"a": 1}',
    'TOOL: add({"a": 1})',
    '__TOOL:__ add {"a": 1}',
    'TOOL: add with arguments: {"a": 1}',
    'TOOL: add\n{"a": 1}',
    'TOOL: add\n```json\n{"a": 1}\n```',
    'TOOL: add ```{"a": 1}```',
    '```\nTOOL: add {"a": 1}\n```',
    '```json\nTOOL: add {"a": 1}\n```',
    'TOOL:\nadd {"a": 1}',
    'TOOL: add {"a": 1}\r\n',
    'TOOL: {"name": "add", "arguments": {"a": 1}}',
    'TOOL:\n```json\n{"name": "add", "arguments": {"a": 1}}\n```',
    '<tool name="add">{"a": 1}</tool>',
    '<tool name="add">\n```json\n{"a": 1}\n```\n</tool>',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
]


@pytest.mark.parametrize("text", PLAIN_ONES)
def test_one_call_is_read_in_every_form_models_write_it(text: str):
    """Spec 1: `TOOL: <tool_name> <args>`; the rest is what models make of it."""
    reply = parse_reply(text)
    assert reply.calls == (ADD,)
    assert reply.thought == ""


def test_text_without_a_call_is_all_thought():
    text = "The answer is 4.\n\nNo TOOLS: were needed."
    assert parse_reply(text).thought == text
    assert parse_reply(text).calls == ()


def test_prose_around_a_call_is_the_thought():
    reply = parse_reply('I will add.\nTOOL: add {"a": 1} and then wait.\nSee you.')
    assert reply.calls == (ADD,)
    assert reply.thought == "I will add.\n and then wait.\nSee you."


def test_several_calls_keep_their_order():
    text = 'First:\nTOOL: add {"a": 1}\nTOOL: now\n\nTOOL: add {"a": 1}'
    assert parse_reply(text).calls == (ADD, TextCall("now", ""), ADD)


def test_several_calls_on_one_line_are_all_read():
    reply = parse_reply('TOOL: add {"a": 1}, TOOL: mul {"b": 2}.')
    assert reply.calls == (ADD, TextCall("mul", '{"b": 2}'))


def test_arguments_may_span_lines_and_hold_brackets_in_strings():
    arguments = '{\n  "text": "} TOOL: no {}",\n\n  "n": [1, {"x": "\\"]"}]\n}'
    reply = parse_reply(f"TOOL: put {arguments}\nThanks")
    assert reply.calls == (TextCall("put", arguments),)
    assert reply.thought == "Thanks"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("TOOL: say hello world", "hello world"),
        ("**TOOL: say hello world**", "hello world"),
        ('TOOL: say text="a, b", n=[1, 2]', 'text="a, b", n=[1, 2]'),
        ('TOOL: say(text="a) b")', 'text="a) b"'),
        ("TOOL: say()", ""),
        ("TOOL: say", ""),
        ("TOOL: say\n```python\nprint(1)\n```", "print(1)"),
        ("<tool name='say'>\n<text>hi</text>\n<n>1</n>\n</tool>", "<text>hi</text>\n<n>1</n>"),
        ('<tool name="say"/>', ""),
        ('<tool name="say"></tool>', ""),
        ('<tool name="say">{"text": "</tool>"}</tool>', '{"text": "</tool>"}'),
    ],
)
def test_other_arguments_are_kept_as_they_were_written(text: str, arguments: str):
    assert parse_reply(text).calls == (TextCall("say", arguments),)


@pytest.mark.parametrize(
    "name", ["my-tool", "server.tool", "a/b", "functions.x_1", "größe", "_x_", "-x-"]
)
def test_names_may_hold_dashes_dots_and_slashes(name: str):
    assert parse_reply(f"TOOL: {name} {{}}").calls == (TextCall(name, "{}"),)


@pytest.mark.parametrize(
    "text",
    [
        'TOOL: add {"a": 1}\nTOOL RESULT add: 3\nThe sum is 3.\nTOOL: mul {}',
        'TOOL: add {"a": 1}\n\n**Tool Result:**\n3\nTOOL: mul {}',
        'TOOL: add {"a": 1}\nObservation: 3\nTOOL: mul {}',
        'TOOL: add {"a": 1}\nSYSTEM: 3\nTOOL: mul {}',
    ],
)
def test_nothing_counts_after_the_model_invents_the_result(text: str):
    reply = parse_reply(text)
    assert reply.calls == (ADD,)
    assert reply.thought == ""


def test_a_result_mentioned_without_a_call_is_part_of_the_answer():
    text = "TOOL RESULT add: 3\nSo the sum is 3."
    assert parse_reply(text).thought == text


@pytest.mark.parametrize(
    "text",
    [
        "```python\n# an example\nTOOL: add {}\n```",
        "```python\nTOOL: add {}\n```",
        "```\nsome output\nTOOL: add {}",
        'print("TOOL: add {}")',
        '{"text": "then use TOOL: add {}"}',
        "Write `TOOL: add {}` to add.",
        "> TOOL: add {}",
        'In XML it is `<tool name="add">{}</tool>`, they say.',
        "Tool: Hammer\nPrice: 5",
        "The right tool: add",
        "I could use TOOL: add for this.",
        "<think>\nTOOL: add {}\n</think>\nNo.",
        "<think>\nTOOL: add {}",
        "maybe\nTOOL: add {}\n</think>\nNo.",
    ],
)
def test_what_only_looks_like_a_call_is_left_alone(text: str):
    reply = parse_reply(text)
    assert reply.calls == ()
    assert reply.thought == text


def test_a_call_after_thinking_or_code_counts():
    text = '<think>\nTOOL: no {}\n</think>\n```python\nTOOL: no {}\n```\nTOOL: add {"a": 1}'
    assert parse_reply(text).calls == (ADD,)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("TOOL:", TextCall("", "")),
        ("TOOL: {}", TextCall("", "{}")),
        ('TOOL: {"a": 1}', TextCall("", '{"a": 1}')),
        ("<tool_call>oops</tool_call>", TextCall("", "oops")),
    ],
)
def test_a_call_without_a_name_is_kept_so_that_it_can_be_answered(text: str, call: TextCall):
    assert parse_reply(text).calls == (call,)


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('TOOL: put {"a": "it"s"}\nTOOL: add {"a": 1}', '{"a": "it"s"}'),
        ('TOOL: put {"a": 1\nTOOL: add {"a": 1}', '{"a": 1'),
        ('TOOL: put {"a": "x\n\nTOOL: add {"a": 1}', '{"a": "x'),
    ],
)
def test_broken_json_does_not_swallow_the_next_call(text: str, broken: str):
    assert parse_reply(text).calls == (TextCall("put", broken), ADD)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4), st.sampled_from([None, 2]))
def test_any_json_arguments_are_found_whole(arguments: dict[str, object], indent: int | None):
    written = json.dumps(arguments, ensure_ascii=False, indent=indent)
    reply = parse_reply(f"Let me see.\nTOOL: put {written}\nAnd now?")
    assert reply.calls == (TextCall("put", written),)
    assert reply.thought == "Let me see.\n\nAnd now?"


@given(st.text(alphabet="TOL: {}\"'`\n<>a/=()[]", max_size=60))
def test_any_text_is_read_without_an_error(text: str):
    parse_reply(text)
