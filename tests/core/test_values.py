"""Small values and rules: answers, kinds, results, commands, templates, literals, addresses."""

from __future__ import annotations

import base64
import gc
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from xai_mcp_agent import (
    Answer,
    AudioPart,
    ImagePart,
    InvalidArguments,
    LinkPart,
    Question,
    ResourcePart,
    SettingsError,
    SourceClosed,
    TextPart,
    ToolResult,
    UnknownPart,
    XaiMcpError,
    answer_with_defaults,
)
from xai_mcp_agent.core import places, tools
from xai_mcp_agent.core.errors import drop_tracebacks
from xai_mcp_agent.core.places import place_of, place_of_host
from xai_mcp_agent.core.shell import shell_command, tool_command
from xai_mcp_agent.core.tools import SourceKind, find_kind
from xai_mcp_agent.core.util import expression_of, fill_template, literal_in, module_of


def test_defaults_answer_a_form_only_if_nothing_is_missing():
    fields = {"a": {"type": "string", "default": "x"}, "b": {"type": "integer"}}
    schema: dict[str, Any] = {"type": "object", "properties": fields, "required": ["a"]}
    assert answer_with_defaults(Question("s", "?", schema)) == Answer.accepted({"a": "x"})
    schema["required"] = ["a", "b"]
    assert answer_with_defaults(Question("s", "?", schema)).action == "decline"
    assert answer_with_defaults(Question("s", "?", url="https://x.org")).action == "decline"


def test_every_source_kind_is_found_by_its_name():
    """Ids of its tools depend on whether it connects; an unknown kind from a history does."""
    ours = [x for x in vars(tools).values() if isinstance(x, SourceKind)]
    assert len(ours) >= 3
    assert all(find_kind(kind.name) is kind for kind in ours)
    assert find_kind("planet") == SourceKind("planet")
    assert find_kind("planet").connects


def test_a_result_as_text_has_its_parts_in_order_and_a_placeholder_for_each_picture():
    picture = base64.b64encode(b"12345").decode()
    result = ToolResult(
        (
            TextPart("first"), ImagePart(picture, "image/png"), AudioPart(picture, "audio/wav"),
            LinkPart("file:///a", "a", "An A."), ResourcePart("file:///b", text="inside"),
            ResourcePart("file:///c", data=picture, mime_type="application/zip"),
            UnknownPart("hologram", {}),
        )
    )  # fmt: skip
    assert result.text.splitlines() == [
        "first",
        "[image image/png, 5 bytes, not shown as text]",
        "[audio audio/wav, 5 bytes, not shown as text]",
        "[resource a: file:///a] An A.",
        "inside",
        "[resource file:///c, application/zip, 5 bytes]",
        "[content of unknown kind 'hologram', left out]",
    ]


def test_a_command_can_be_pasted_into_the_shell():
    """A tool whose name looks like an option is not read as one."""
    assert shell_command("cd", "C:\\My Lab", windows=True) == 'cd "C:\\My Lab"'
    assert shell_command("cd", "/my lab", windows=False) == "cd '/my lab'"
    assert shell_command("cd", "C:\\Lab", windows=True) == "cd C:\\Lab"
    assert tool_command("approve", "shop", "buy") == "xai-mcp-agent tools approve shop buy"
    with_option = tool_command("accept", "shop", "--all", options=("--digest", "1a"))
    assert with_option == "xai-mcp-agent tools accept --digest 1a -- shop --all"


# RFC 6570; the examples are its own where it has some.


def test_values_are_encoded_for_their_place_in_a_template():
    rows: list[tuple[str, dict[str, Any], str]] = [
        ("x://plain", {}, "x://plain"),
        ("x://{hello}", {"hello": "Hello World!"}, "x://Hello%20World%21"),
        ("x://{+path}/here", {"path": "/foo/bar"}, "x:///foo/bar/here"),
        ("x://{path}", {"path": "../etc"}, "x://..%2Fetc"),
        ("x:/{/list*}", {"list": ["red", "green"]}, "x://red/green"),
        ("x://a{?x,y}", {"x": 1024, "y": True}, "x://a?x=1024&y=true"),
        ("x://a{?x,y}", {"y": "b&c"}, "x://a?y=b%26c"),
        ("x://a{?x}", {"x": None}, "x://a"),
        ("x://{user-id}{#part}", {"user-id": 7}, "x://7"),
        ("x://{self}", {"self": "me"}, "x://me"),
    ]
    for template, values, uri in rows:
        assert fill_template(template, values) == uri


def test_the_error_names_a_missing_or_misspelled_value_of_a_template():
    """A gap in a path would read another resource."""
    rows: list[tuple[dict[str, Any], str]] = [
        ({}, "day is missing"), ({"day": ""}, "day is missing"), ({"day": None}, "day is missing"),
        ({"day": "x", "dya": "y"}, "there is no parameter dya"),
    ]  # fmt: skip
    for values, problem in rows:
        with pytest.raises(InvalidArguments, match=problem) as caught:
            fill_template("x://{day}{?lang}", values)
        assert str(caught.value).endswith("Expected: day, lang.")


@pytest.fixture
def _garbage_lets_others_in() -> Iterator[None]:
    """Garbage collection in the middle of parsing switches to another thread."""

    def pause(_phase: str, _info: dict[str, Any]) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(pause)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(pause)


@pytest.mark.usefixtures("_garbage_lets_others_in")
def test_several_threads_can_parse_code_at_once_without_running_it():
    source = "\n".join(f"x{n} = [{n}, (f({n}), {{'a': {n}}})]" for n in range(200))
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(module_of, [source] * 16))
    assert {len(x.body) for x in trees} == {200}
    assert literal_in(" {'a': (1, 2.5, None)}") == {"a": (1, 2.5, None)}
    with pytest.raises(ValueError, match="malformed"):
        literal_in("__import__('os').getcwd()")
    with pytest.raises(SyntaxError):
        expression_of("1 +")


ADDRESSES = {
    places.THIS_MACHINE: "127.0.0.1 ::1 :: 0.0.0.0 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::1",
    places.LINK_LOCAL: "169.254.169.254 fe80::1%eth0 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
    places.PRIVATE_NETWORK: "10.0.0.1 100.64.0.1 fc00::1 fec0::1 64:ff9b:1::1 224.0.0.1",
    places.INTERNET: "8.8.8.8 2606:4700::1 64:ff9b::808:808 ::ffff:8.8.8.8",
}


def test_every_form_of_an_address_is_in_its_place():
    """Other loopback addresses are places of their own; a name has no place before DNS."""
    for place, addresses in ADDRESSES.items():
        assert {place_of(x) for x in addresses.split()} == {place}
    assert place_of("127.0.0.2") == place_of("::ffff:127.0.0.2") == "on this machine, at 127.0.0.2"
    for host in ("localhost.", "a.localhost", "[::1]"):
        assert place_of_host(host) == places.THIS_MACHINE
    assert place_of_host("example.com") is place_of_host("0x7f.1") is place_of_host("") is None


# Errors: what, where, and what next, in the text and as facts.


class Value:
    """A value in a frame."""


def test_an_error_without_tracebacks_keeps_no_frame_alive():
    def pass_on(value: Value) -> None:
        """Replace an error by another one while the frame refers to the first."""
        causes: list[BaseException] = []
        try:
            raise ValueError(value)
        except ValueError as cause:
            causes.append(cause)
            cause.args = ()
            raise KeyError("in its place") from cause

    gc.disable()
    try:
        value = Value()
        reference = weakref.ref(value)
        try:
            pass_on(value)
        except KeyError as error:
            drop_tracebacks(error)
        del value
        assert reference() is None
    finally:
        gc.enable()


class AgentOfThisTest:
    """Raises where nodes raise."""

    def execute(self, ctx: Any) -> None:
        raise ctx


class Flow:
    """Runs a node, as the class of a compiled workflow does."""

    def execute(self, ctx: Any) -> None:
        AgentOfThisTest().execute(ctx)


def panel_lines(error: XaiMcpError) -> list[str]:
    """Return the lines that IPython shows when a node raises this error."""
    with pytest.raises(XaiMcpError):
        Flow().execute(error)
    return error._render_traceback_()


def test_an_error_about_a_source_quotes_its_last_words_and_the_next_step():
    error = SourceClosed("db", "the connection was lost.", "Try again.", ["one", "two"])
    assert str(error) == (
        "db: the connection was lost.\n"
        "  Its last words on stderr:\n"
        "    one\n"
        "    two\n"
        "  Next step: Try again."
    )
    facts = (error.source, error.next_step, error.stderr_tail)
    assert facts == ("db", "Try again.", ("one", "two"))


def test_the_panel_names_the_node_and_shows_the_message_without_a_traceback():
    """IPython calls `_render_traceback_` of an exception before it formats a traceback itself."""
    assert panel_lines(SettingsError("s.json", "", "not JSON.", "Fix it.")) == [
        "The workflow stopped at AgentOfThisTest (SettingsError):",
        "",
        "  s.json: not JSON. Fix it.",
    ]
    error = SourceClosed("db", "it is gone. " * 10, "Try again.", ["a\x1b[2Jb"])
    lines = "\n".join(panel_lines(error)).splitlines()
    assert max(map(len, lines)) <= 80, "broken between words"
    assert " ".join(" ".join(lines).split()).count("it is gone.") == 10
    assert lines[-2:] == ["      a?[2Jb", "    Next step: Try again."]
    with pytest.raises(XaiMcpError) as raised:
        raise XaiMcpError("no")
    assert not hasattr(raised.value, "_render_traceback_"), "no node raised it"
