"""Whatever the offline model is offered and told, it gives a valid reply, soon."""

from __future__ import annotations

import json
import time
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.offline_talk import TODAY, ask, talk, tool
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest
from xai_mcp_agent.agent.models.offline.model import OfflineModel
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.planning.reading.mentions import mentions_in

LEAST_SECONDS = 0.002  # Below that the clock tells little.

SAID = """
add find the book books 2 3.5 -7 and then it them result Tokyo Paris 'quoted text' today 14:30
2026-03-12 Ada for to from in into km 5 miles first show list delete send what is how many please
#12 a@b.org https://x.org/a /tmp/x.txt of about limit name: id = , . ? ; ( ) { } TOOL: TOOL " `
<tool </think> ``` ERROR: did you mean \u6771\u4eac \u00fcber one dozen
"""
WORDS = st.sampled_from([*SAID.split(), "\n"])
OPENINGS = st.sampled_from(
    ["", "find books ", "add 1 and 2 ", "delete book 7 ", "get time ", "list books ", "send mail "]
)
REQUESTS = st.one_of(
    st.tuples(OPENINGS, st.lists(WORDS, max_size=20).map(" ".join)).map("".join),
    st.text(max_size=200),
)
NAMES = st.one_of(
    st.sampled_from(
        ["find_books", "add", "deleteBook", "get-time", "list_books", "send_mail", "books_find"]
    ),
    st.from_regex(r"[a-zA-Z0-9]([a-zA-Z0-9_-]{0,28}[a-zA-Z0-9])?", fullmatch=True),
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    ["type", "properties", "required", "enum", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs",
     "default", "description", "format", "const", "examples", "additionalProperties", "title"]
)  # fmt: skip
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "array", "object", "null", "odd"]
)
ODD_SCHEMAS = st.recursive(
    SCALARS | TYPES | st.sampled_from(["#", "#/$defs/x", "#/properties/a", "other.json"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
PARAMETERS = st.fixed_dictionaries(
    {"type": TYPES | st.lists(TYPES, max_size=2)},
    optional={
        "description": st.sampled_from(
            ["a date as YYYY-MM-DD", "use 'x' if no one is given", "id"]
        ),
        "enum": st.lists(SCALARS, max_size=3),
        "format": st.sampled_from(["date", "uri", "email", "date-time", "odd"]),
        "items": ODD_SCHEMAS,
        "default": SCALARS,
    },
)
PARAMETERS_SAID = "a b query limit book_id from_unit to_unit value date timezone path city flag x"
PARAMETER_NAMES = st.sampled_from(PARAMETERS_SAID.split())
SCHEMAS = st.one_of(
    ODD_SCHEMAS.filter(lambda x: isinstance(x, dict)),
    st.dictionaries(PARAMETER_NAMES, PARAMETERS, max_size=4).flatmap(
        lambda properties: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(properties),
                "required": st.lists(st.sampled_from([*properties, "ghost"]), max_size=3),
            }
        )
    ),
)
FUNCTIONS = st.lists(
    st.builds(FunctionSpec, NAMES, REQUESTS, SCHEMAS), max_size=5, unique_by=lambda x: x.name
)
CONTENTS = st.one_of(
    REQUESTS,
    st.none(),
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": REQUESTS}), max_size=2),
    ODD_SCHEMAS,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from(["call_1", "call_2"]),
            "function": st.fixed_dictionaries(
                {"name": NAMES, "arguments": st.text() | ODD_SCHEMAS}
            ),
        }
    )
    | ODD_SCHEMAS,
    max_size=2,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": CONTENTS},
        optional={"tool_calls": CALLS | st.none(), "tool_call_id": st.just("call_1")},
    ),
    max_size=5,
)


def not_json(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def reply_to(messages: list[Message], functions: list[FunctionSpec]) -> ModelReply:
    async def asked() -> ModelReply:
        return await ask(messages, functions)

    return anyio.run(asked)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(functions=FUNCTIONS, messages=MESSAGES, request_text=REQUESTS)
def test_any_tools_and_any_conversation_give_a_valid_reply(
    functions: list[FunctionSpec], messages: list[Message], request_text: str
) -> None:
    """Calls name offered tools, arguments are JSON objects, and asking again changes nothing."""
    conversation = [*messages, {"role": "user", "content": request_text}]
    reply = reply_to(conversation, functions)
    calls = reply.calls
    assert reply.text
    assert {x.name for x in calls} <= {x.name for x in functions}
    for call in calls:
        assert isinstance(json.loads(call.arguments, parse_constant=not_json), dict)
    assert len({x.id for x in calls}) == len(calls)
    again = reply_to(conversation, functions)
    assert (reply.text, reply.calls) == (again.text, again.calls)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(functions=FUNCTIONS, request_text=REQUESTS, result=REQUESTS | ODD_SCHEMAS.map(json.dumps))
@example(
    [tool("find_books", "Find.", query="string")],
    "find books 'x'",
    'TOOL: find_books {"query": "y"}',
)
def test_any_result_comes_to_an_end_in_both_protocols_and_in_the_same_calls(
    functions: list[FunctionSpec], request_text: str, result: str
) -> None:
    """A run ends with an answer, whatever the tools give back; the protocol changes nothing."""

    async def runs() -> None:
        native = await talk(request_text, functions, lambda _name, _arguments: result)
        text = await talk(request_text, functions, lambda _name, _arguments: result)
        assert native.turns == text.turns

    anyio.run(runs)


@pytest.mark.anyio
async def test_a_schema_that_refers_to_itself_is_read_to_an_end() -> None:
    fields = {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}
    node = {"type": "object", "properties": fields, "required": ["name", "next"]}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    reply = await ask([{"role": "user", "content": "make a chain 'x'"}],
                      [FunctionSpec("make_chain", "Makes a chain.", schema)])  # fmt: skip
    assert "`next`" in reply.text


PASTED = [
    "-",
    "a@",
    " ",
    "1,",
    "(1+",
    "\n",
    "A. ",
    "in ",
    "a/",
    "'",
    '"',
    "{",
    "2026-",
    "and ",
    "1 ",
]


@pytest.mark.anyio
@pytest.mark.parametrize("repeated", PASTED)
async def test_a_pasted_text_does_not_keep_it_busy(repeated: str) -> None:
    """No search in the text may take time that grows with the square of the text."""
    short, long = [await cpu_seconds(repeated, characters) for characters in (2_500, 10_000)]
    assert long < 10 * max(short, LEAST_SECONDS)


async def cpu_seconds(repeated: str, characters: int) -> float:
    """The time that a text of this length takes, whatever else this machine does."""
    request = ("add 1 and 2 " + repeated * characters)[:characters]
    functions = [tool("add", "Adds.", a="number", b="number")]
    spent: list[float] = []
    for _ in range(2):
        started = time.process_time()
        await ask([{"role": "user", "content": request}], functions)
        spent.append(time.process_time() - started)
    return min(spent)


@pytest.mark.anyio
async def test_a_thousand_tools_are_prepared_once_and_not_for_every_turn() -> None:
    kinds = ("invoice", "customer", "parcel", "contract", "machine", "vehicle", "house", "document")
    functions = [
        tool(f"{verb}_{kind}_{n}", f"Handles one {kind} of store {n}.", name="string")
        for n in range(25)
        for kind in kinds
        for verb in ("list", "find", "print", "check", "sort")
    ]
    spent: list[float] = []
    for _ in range(3):
        started = time.process_time()
        messages: list[Message] = [{"role": "user", "content": "print the invoice named 'x'"}]
        reply = await ask(messages, functions)
        spent.append(time.process_time() - started)
    assert reply.calls[0].name == "print_invoice_0"
    assert min(spent[1:]) < spent[0] / 2


@settings(max_examples=60)
@given(st.text(max_size=80))
def test_a_value_is_where_it_says_it_is(text: str) -> None:
    for mention in mentions_in(text, TODAY):
        assert 0 <= mention.start <= mention.end <= len(text)


@pytest.mark.anyio
async def test_it_streams_in_pieces_and_lets_others_run() -> None:
    """Thirty agents share one loop."""
    pieces: list[str] = []
    others: list[int] = []

    async def on_text(piece: str) -> None:
        pieces.append(piece)

    async def somebody_else() -> None:
        for turn in range(3):
            others.append(len(pieces) + turn)
            await anyio.lowlevel.checkpoint()

    request: Any = ModelRequest(({"role": "user", "content": "hello"},))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(somebody_else)
        reply = await OfflineModel().reply(request, on_text)
    assert len(pieces) > 3
    assert "".join(pieces) == reply.text
    assert others
