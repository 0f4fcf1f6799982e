"""What small models really write, and what is read from it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xai_mcp_agent import InvalidArguments
from xai_mcp_agent.agent.protocols.arguments import parse_arguments
from xai_mcp_agent.agent.protocols.spellings import TextCall
from xai_mcp_agent.agent.protocols.text_reply import (
    MAX_CALLS,
    MAX_REPLY_CHARS,
    TextReply,
    parse_reply,
)

ADD = TextCall("add", '{"a": 1}')


def known(name: str) -> bool:
    return name in {"add", "now"}


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


def test_prose_before_and_between_calls_is_the_thought():
    reply = parse_reply('I will add.\nTOOL: add {"a": 1} and then\nTOOL: now')
    assert reply.calls == (ADD, TextCall("now", ""))
    assert reply.thought == "I will add.\n and then"


def test_a_reply_with_words_after_its_calls_is_an_answer_without_its_thinking():
    text = 'TOOL: add {"a": 1}\nwould add.'
    assert parse_reply(f"<think>Hm.</think>\n{text}") == TextReply(text, (), "Hm.")


def test_words_between_a_call_and_a_result_that_the_model_made_up_are_no_answer():
    reply = parse_reply("TOOL: add {}\nI wait.\nTOOL RESULT add: 3\nIt is 3.")
    assert (reply.calls, reply.invented) == ((), "add")
    assert reply.before_invented == "TOOL: add {}\nI wait."


def test_several_calls_keep_their_order():
    text = 'First:\nTOOL: add {"a": 1}\nTOOL: now\n\nTOOL: add {"a": 1}'
    assert parse_reply(text).calls == (ADD, TextCall("now", ""), ADD)


def test_several_calls_on_one_line_are_all_read():
    reply = parse_reply('TOOL: add {"a": 1}, TOOL: mul {"b": 2}.')
    assert reply.calls == (ADD, TextCall("mul", '{"b": 2}'))


def test_arguments_may_span_lines_and_hold_brackets_in_strings():
    arguments = '{\n  "text": "} TOOL: no {}",\n\n  "n": [1, {"x": "\\"]"}]\n}'
    reply = parse_reply(f"TOOL: put {arguments}\n")
    assert reply == TextReply("", (TextCall("put", arguments),))


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
    ],
)
def test_what_only_looks_like_a_call_is_left_alone(text: str):
    reply = parse_reply(text)
    assert reply.calls == ()
    assert reply.thought == text


@pytest.mark.parametrize(
    ("text", "thinking", "said"),
    [
        ("<think>\nTOOL: add {}\n</think>\nNo.", "TOOL: add {}", "No."),
        ("<think>\nTOOL: add {}", "TOOL: add {}", ""),
        ("maybe\nTOOL: add {}\n</think>\nNo.", "maybe\nTOOL: add {}", "No."),
        ("<thinking>a</thinking>Yes\n<reasoning>b</reasoning>!", "a\n\nb", "Yes\n!"),
        ("[THINK]a[/THINK]Yes", "a", "Yes"),
        ("```html\n<think>\n```", "", "```html\n<think>\n```"),
        ("The tag <think> opens it.", "", "The tag <think> opens it."),
    ],
)
@pytest.mark.parametrize("taught", [True, False])
def test_thinking_is_no_answer_and_calls_nothing(
    text: str, thinking: str, said: str, *, taught: bool
):
    reply = parse_reply(text, known, taught=taught)
    assert reply == TextReply(said, (), thinking)


def test_thinking_may_be_longer_than_what_is_searched_for_calls():
    reply = parse_reply(f"<think>{'x' * MAX_REPLY_CHARS}</think>Yes.")
    assert reply == TextReply("Yes.", (), "x" * MAX_REPLY_CHARS)
    assert parse_reply(f"<think>{'x' * MAX_REPLY_CHARS}").thought == ""


JSON_FORMS = [
    '{"name": "add", "arguments": {"a": 1}}',
    '{"name": "add", "parameters": {"a": 1}}',
    '[{"name": "add", "arguments": {"a": 1}}]',
    '{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}',
    '```json\n{\n  "name": "add",\n  "arguments": {"a": 1}\n}\n```',
]
OTHER_FORMS = [
    'Action: add\nAction Input: {"a": 1}',
    'Action: add\nAction Input: {"a": 1}\nObservation: 3\nFinal Answer: 3',
    'Action:\n```json\n{"action": "add", "action_input": {"a": 1}}\n```',
    '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}]',
    '[TOOL_CALLS]add[ARGS]{"a": 1}',
    '[TOOL_CALLS]add{"a": 1}',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
    '<tool_call>{"name": "add", "arguments": {"a": 1}}',
    '<function=add>{"a": 1}</function>',
    '<think>Which?</think>\n<function=add>{"a": 1}</function>',
]


@pytest.mark.parametrize("taught", [True, False])
@pytest.mark.parametrize("text", OTHER_FORMS)
def test_the_forms_that_models_were_trained_on_are_understood(text: str, *, taught: bool):
    """Also where they leak into the text of a model that is offered functions."""
    reply = parse_reply(text, known, taught=taught)
    assert reply.calls == (ADD,)
    assert reply.thought == ""


@pytest.mark.parametrize("text", JSON_FORMS)
def test_json_alone_is_a_call_only_of_a_model_that_was_taught(text: str):
    assert parse_reply(text, known) == TextReply("", (ADD,))
    assert parse_reply(text, known, taught=False) == TextReply(text)


def test_json_and_actions_of_a_model_that_was_taught_may_be_several_calls():
    text = '[{"name": "add", "arguments": {"a": 1}}, {"name": "now", "arguments": {}}]'
    assert parse_reply(text, known).calls == (ADD, TextCall("now", ""))
    assert parse_reply("Action: now", known).calls == (TextCall("now", ""),)


@pytest.mark.parametrize("taught", [True, False])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("```tool_code\nadd(a=1)\n```", (TextCall("add", "a=1"),)),
        (
            '```tool_code\nprint(default_api.add(a="(")) \nnow()\n```',
            (TextCall("add", 'a="("'), TextCall("now", "")),
        ),
        (
            "<tool_call><function=add>\n<parameter=a>\n1\n</parameter>\n</function></tool_call>",
            (TextCall("add", "<a>1</a>"),),
        ),
    ],
)
def test_other_forms_may_hold_several_calls(
    text: str, calls: tuple[TextCall, ...], *, taught: bool
):
    assert parse_reply(text, known, taught=taught).calls == calls


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ann", "arguments": {"for": "x"}}',
        '{"name": "add", "price": 3}',
        '{"name": "add", "arguments": {}, "comment": "an example"}',
        "Action: call the office",
        "Action: add some salt",
        '```python\n{"name": "add", "arguments": {"a": 1}}\n```',
        '> <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
        'Write `<function=add>{"a": 1}</function>` for it.',
        "```tool_code\nimport add\nadd.all()\n```",
    ],
)
@pytest.mark.parametrize("taught", [True, False])
def test_other_forms_that_may_be_something_else_are_left_alone(text: str, *, taught: bool):
    reply = parse_reply(text, known, taught=taught)
    assert reply == TextReply(text)


@pytest.mark.parametrize(
    "text",
    [
        'TOOL: add {"a": 1}',
        '<tool name="add">{"a": 1}</tool>',
        '<tool_call>{"name": "nope", "arguments": {"a": 1}}</tool_call>',
        "Action: now",
        '```\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>\n```',
    ],
)
def test_what_leaks_is_a_call_only_when_it_is_unmistakable(text: str):
    assert parse_reply(text, known, taught=False) == TextReply(text)


def test_prose_may_stand_before_the_json_of_a_model_that_was_taught():
    text = 'So:\n```json\n{"name": "add", "arguments": {"a": 1}}\n```'
    assert parse_reply(text, known) == TextReply("So:", (ADD,))
    assert parse_reply(f"{text}\nWait.", known) == TextReply(f"{text}\nWait.")


def test_a_made_up_result_is_cut_off_with_a_note():
    reply = parse_reply('TOOL: add {"a": 1}\nTOOL RESULT add: 3\nIt is 3.')
    assert "results come only from tools" in reply.note
    reply = parse_reply("I add.\nTOOL RESULT add: 3\nIt is 3.")
    assert (reply.invented, reply.before_invented) == ("add", "I add.")


def test_of_very_many_calls_the_first_are_read_and_the_rest_is_told():
    reply = parse_reply("TOOL: now\n" * 1000)
    assert len(reply.calls) == MAX_CALLS
    assert "of its 10000 characters the last 9000 were left out" in reply.note


def test_a_call_beyond_the_longest_reply_is_not_read():
    padding = "x" * MAX_REPLY_CHARS
    spaces = " " * MAX_REPLY_CHARS
    reply = parse_reply(f'TOOL: add {{"a": 1}}\n{spaces}\nTOOL: now')
    assert reply.calls == (ADD,)
    assert "left out" in reply.note
    assert parse_reply(f"{padding}\nTOOL: now") == TextReply(f"{padding}\nTOOL: now")


def test_a_call_after_thinking_or_code_counts():
    text = '<think>\nTOOL: no {}\n</think>\n```python\nTOOL: no {}\n```\nTOOL: add {"a": 1}'
    assert parse_reply(text).calls == (ADD,)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("TOOL:", TextCall("", "")),
        ("TOOL: {}", TextCall("", "{}")),
        ('[TOOL_CALLS] [{"name": "add",', TextCall("", '[{"name": "add",')),
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
    reply = parse_reply(f"Let me see.\nTOOL: put {written}\n")
    assert reply == TextReply("Let me see.", (TextCall("put", written),))


@given(st.text(alphabet="TOL: {}\"'`\n<>a/=()[]", max_size=60))
def test_any_text_is_read_without_an_error(text: str):
    parse_reply(text)


# What a reply is made of that is hard to read: things that open and never close, above all.
HOSTILE = [
    'TOOL: add {"a": ', 'TOOL: add {"a": \n', "TOOL: add {\n", 'x TOOL: a {"', "TOOL:_", "TOOL:",
    "TOOL: ", "TOOL: a\n", "TOOL: a {}\n", "Tool: x y\n", "<tool_call>", '<tool_call>{"name": "',
    '<tool name="a">', '<tool name="', "<function=a>", "<function=a>{", "<parameter=b>",
    "[TOOL_CALLS]", "[TOOL_CALLS] [{", "[TOOL_CALLS]a{", "Action: a\n", "Action:",
    "Action: a\nAction Input: {\n",
    '{"name": ', '{"name": "add", "arguments": {"a":\n', "{\n", "[", "{", "(", '"', "'",
    "```\n", "```json\n", "```tool_code\na(\n", '```json\n{"name"\n', "<think>", "<think>\n",
    "\n</think>", "* ", "*", "- ", "1. ", " ", "\n", " \n", "`", "_", "> TOOL: a {}\n", "TOOL: a (",
    "TOOL: a\n```\n", 'TOOL: a {"x": "\n\n', "TOOL: a input ", "TOOL RESULT a:\n", "Observation: ",
    "\\", "a=", 'a="', "b: ", "<a>", "</a>", "TOOL*", "TOOL: a {'", "word ",
]  # fmt: skip
HEADS = ["", "TOOL: a ", '{"name": ', "```tool_code\n", "a="]
PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
READERS: list[Callable[[str], object]] = [
    lambda text: parse_reply(text, known),
    lambda text: parse_reply(text, known, taught=False),
    lambda text: parse_arguments(text, PARAMETERS),
]
# Below it, the clock and what is done once count for more than the text.
LEAST_SECONDS = 0.01


def seconds_for(read: Callable[[str], object], text: str, enough: float = 0.0) -> float:
    """Processor time of this thread, the least of ten: others may use the machine meanwhile.

    Less than `enough` is not measured again: what is asked is whether it takes more.
    """
    least = inf
    for _ in range(10):
        started = time.thread_time()
        with suppress(InvalidArguments):
            read(text)
        least = min(least, time.thread_time() - started)
        if least <= enough:
            break
    return least


def assert_linear(head: str, unit: str, chars: int) -> None:
    short, long = (head + (unit * (n // len(unit) + 1))[:n] for n in (chars, 4 * chars))
    for read in READERS:
        most = 8 * max(seconds_for(read, short, LEAST_SECONDS), LEAST_SECONDS)
        assert seconds_for(read, long, most) <= most


@pytest.mark.parametrize("unit", HOSTILE)
def test_four_times_a_hostile_reply_takes_at_most_eight_times_as_long(unit: str):
    for head in HEADS:
        assert_linear(head, unit, 5_000)


@pytest.mark.parametrize(
    "unit", ['TOOL: add {"a": ', "Action: a\n", "<tool_call>{", "{'", "TOOL:_"]
)
def test_a_hostile_reply_of_200_kb_is_read_in_time_with_its_length(unit: str):
    """24 kB of the first took 5.8 s, 96 kB 79 s."""
    assert_linear("", unit, 50_000)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=6).map("".join))
def test_any_mixture_of_hostile_parts_is_read_in_time_with_its_length(unit: str):
    assert_linear("", unit, 5_000)
