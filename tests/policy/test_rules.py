"""Rules as people write them, their rulings, and spellings that must not get around them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy.shredding import PAPER, Clerk, agent, shred, shredding, tool
from tests.support.agents_in_ctx import agent as model_agent
from tests.support.agents_in_ctx import ctx_with, last_message, run, tools_of_request
from tests.support.commands import write_settings
from tests.support.model_endpoint import calls
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import Bridge, SettingsError, settings_from
from xai_mcp_agent.core.approval import Ruling, RunFacts
from xai_mcp_agent.core.calls import Caller, ToolInvocation
from xai_mcp_agent.core.errors import RuleDenied
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.policy.conditions import Facts
from xai_mcp_agent.policy.rulebook import RuleBook
from xai_mcp_agent.policy.rules import RuleGate
from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.settings.models import Settings

NOON, NIGHT = datetime(2026, 11, 23, 12, 0), datetime(2026, 11, 23, 23, 30)
WRITES = [
    {
        "name": "writing tools",
        "when": {"tool.name": ["*write*", "*delete*", "*move*"], "tool.params": "path"},
        "then": {"is": "writes_files"},
    },
    {
        "name": "keep to the workspace",
        "when": {"is": "writes_files", "args.path": "outside /desk"},
        "then": "ask",
    },
]


def settings_of(rules: Any, folder: Path | None = None) -> Settings:
    return settings_from({"mcpServers": {}, "rules": rules}, folder=folder)


def judge(
    rules: Any,
    of: Tool,
    arguments: Mapping[str, Any] | None = None,
    *,
    caller: Caller | None = None,
    now: datetime = NOON,
) -> Ruling:
    facts = Facts(of, caller or agent(), dict(arguments or {}), now)
    return RuleBook(settings_of(rules).rules, str).ruling(facts)


def word(then: str, when: dict[str, Any], of: Tool, /, *args: Any, **more: Any) -> str:
    """Return the word of one rule about a call."""
    return judge([{"when": when, "then": then}], of, *args, **more).word


def before(rules: Any, of: Tool) -> Ruling:
    """Return the ruling while only the tool is known."""
    return RuleBook(settings_of(rules).rules, str).ruling(Facts(of, agent()))


FILE_WRITE, LOG, SEND = tool("files", "write"), tool("git", "log"), tool("mail", "send", "to")
PAY, PATH = tool("bank", "pay", "amount"), tool("files", "write", "path")


def test_a_rule_is_about_servers_agents_times_and_arguments():
    """A value that cannot be compared is held back."""
    unless_read = {"server": "files", "annotation": "not read_only"}
    night = {"server": "mail", "time": "22:00-06:00"}
    coder = {"server": "git", "agent": "not coder"}
    above, inside = {"tool": "pay", "args.amount": "> 100"}, {"args.to": "not *@example.org"}
    rows: list[tuple[dict[str, Any], Tool, dict[str, Any], bool]] = [
        (unless_read, FILE_WRITE, {}, True),
        (unless_read, tool("files", "read", read_only=True), {}, False),
        (unless_read, tool("other", "write"), {}, False),
        (coder, LOG, {}, True),
        (coder, LOG, {"caller": agent("coder")}, False),
        (night, SEND, {"now": NIGHT}, True),
        (night, SEND, {"now": NIGHT.replace(hour=5)}, True),
        (night, SEND, {"now": NIGHT.replace(hour=6, minute=0)}, False),
        ({"day": "sat-mon"}, SEND, {}, True),
        ({"day": "tue-fri"}, SEND, {}, False),
        *((above, PAY, {"arguments": {"amount": x}}, x not in (99, 100))
          for x in (99, 100, 100.5, "150", "much", True)),
        (inside, SEND, {"arguments": {"to": "a@example.org"}}, False),
        (inside, SEND, {"arguments": {"to": "a@example.com"}}, True),
        (inside, SEND, {"arguments": {"to": ["a@example.org", "b@evil.example"]}}, True),
    ]  # fmt: skip
    for when, of, call, is_denied in rows:
        assert word("deny", when, of, **call) == ("deny" if is_denied else ""), (when, call)
    assert before([{"when": coder, "then": "deny"}], LOG).word == "deny"


def test_a_derived_word_asks_for_paths_outside_of_the_workspace():
    inside_paths: list[Any] = ["/desk/a.txt", "a.txt", "/desk", "file:///desk/a.txt"]
    outside_paths: list[Any] = [
        "/etc/passwd", "/desk/../etc/passwd", "../etc/passwd", "/desktop/a.txt", "~/a.txt",
        "file:///etc/passwd", "/desk/a\0b", ["/desk/a", "/etc/b"], {"deep": ["/etc/b"]}, 7,
    ]  # fmt: skip
    for path in inside_paths + outside_paths:
        ruling = judge(WRITES, tool("files", "write_file", "path"), {"path": path})
        assert ruling.word == ("ask" if path in outside_paths else ""), path
        assert ruling.words == {"writes_files"}
    schema = {"type": "object", "properties": {"path": {"type": "string", "default": "/"}}}
    clear = Tool(ToolKey("mcp", "files", "delete_all"), "", schema)
    assert judge(WRITES, clear).word == "ask", "the default counts for a missing value"


def test_a_path_that_a_server_may_resolve_outside_a_folder_is_not_inside_it():
    for path in (
        " /etc/passwd", " file:///etc/passwd", "FILE:///etc/passwd", "file://localhost/etc/passwd",
        "file:/desk/x?/../../etc/passwd", "file://[", "..\\..\\etc\\passwd", "//etc/passwd",
        "https://example.org/x",
    ):  # fmt: skip
        assert word("deny", {"args.path": "outside /desk"}, PATH, {"path": path}) == "deny"
        assert word("allow", {"args.path": "inside /desk"}, PATH, {"path": path}) == ""


def test_a_path_that_a_server_may_resolve_into_a_folder_is_not_outside_it():
    for path in ("/etc/passwd ", "\\etc\\passwd", "file:///etc/passwd?x", "//etc/x"):
        assert word("deny", {"args.path": "inside /etc"}, PATH, {"path": path}) == "deny"


def test_a_rule_may_depend_on_earlier_calls_of_the_run():
    rules = [
        {"when": {"server": ["web", "mail"], "annotation": "open_world"},
         "then": {"is": "untrusted"}},
        {"when": {"tool": ["*send*", "*post*"]}, "then": {"is": "leaves"}},
        {"when": {"is": "leaves", "run.was": "untrusted"}, "then": "ask"},
    ]  # fmt: skip
    facts = RunFacts()
    post, read = tool("chat", "post_message"), tool("web", "fetch", open_world=True)
    assert judge(rules, post, caller=agent(facts=facts)).word == ""
    facts.record_call(read.key, judge(rules, read).words, is_error=False)
    ruling = judge(rules, post, caller=agent(facts=facts))
    assert ruling.word == "ask"
    assert ruling.why == "it is 'leaves', and something before in this run is 'untrusted'"
    assert judge(rules, tool("chat", "read"), caller=agent(facts=facts)).word == ""
    untested = {"tool": "deploy", "run.succeeded": "not run_tests"}
    for is_error, expected in ((None, "deny"), (True, "deny"), (False, "")):
        if is_error is not None:
            facts.record_call(ToolKey("mcp", "ci", "run_tests"), (), is_error=is_error)
        assert word("deny", untested, tool("ci", "deploy"), caller=agent(facts=facts)) == expected


def test_rules_that_depend_on_the_call_are_reported_beforehand():
    ruling = before(WRITES, tool("files", "write_file", "path"))
    assert (ruling.word, [x.rule for x in ruling.perhaps]) == ("", ["keep to the workspace"])
    derived = [
        {"when": {"args.path": "*.key"}, "then": {"is": "a_key"}},
        {"name": "keys", "when": {"is": "a_key"}, "then": "deny"},
    ]
    assert [x.rule for x in before(derived, tool("files", "read", "path")).perhaps] == ["keys"]


def test_no_other_value_or_spelling_hides_the_one_that_a_rule_means():
    """A model may send names that no schema has, and lists in place of one value."""
    rows: list[tuple[dict[str, Any], str]] = [
        ({"order": {"amount": 1000}}, "ask"),
        ({"order.amount": 1, "order": {"amount": 1000}}, "ask"),
        ({"order": {"amount": 1}, "order.amount": 1000}, "ask"),
        ({"order": [{"amount": 1}, {"amount": 1000}]}, "ask"),
        ({"order": [[[{"amount": 1000}]]]}, "ask"),
        ({"order": {"amount": 1}}, ""),
        ({"order": "amount"}, ""),
    ]
    for arguments, expected in rows:
        when = {"args.order.amount": "> 100"}
        assert word("ask", when, tool("shop", "pay"), arguments) == expected
    values: list[tuple[Any, Any, bool]] = [
        (5, "5", True), (5, " 5.0", True), (5, "six", False), (True, "True", True),
        (True, False, False), ("5", 5.0, True), ("is 5", 5.0, True), (1, True, False),
    ]  # fmt: skip
    for of_rule, value, is_same in values:
        is_denied = word("deny", {"args.n": of_rule}, tool("x", "work"), {"n": value}) == "deny"
        assert is_denied == is_same, (of_rule, value)


def test_a_tool_is_not_allowed_by_a_name_like_that_of_another_source():
    """Any server may give a tool such a name."""
    for name in ("files/read", "files.read"):
        mine, stranger = tool("files", "read"), tool("stranger", name)
        assert word("allow", {"tool": name}, mine) == "allow"
        assert word("allow", {"tool": name}, stranger) == ""
        assert word("deny", {"tool": name}, stranger) == "deny"
        assert word("deny", {"tool": f"not {name}"}, stranger) == "deny"
        assert word("deny", {"tool": f"not {name}"}, mine) == ""


def test_a_line_break_in_an_argument_gets_past_no_rule():
    for when, then in (("regex:.*drop.*", "deny"), ("regex:select.*drop", "allow")):
        rules = [
            {"when": {"args.sql": when}, "then": then},
            {"when": {"tool": "run"}, "then": "ask"},
        ]
        ruling = judge(rules, tool("shop", "run", "sql"), {"sql": "select\ndrop"})
        assert ruling.word == ("deny" if then == "deny" else "ask")


def test_reasons_are_short_and_hide_secrets():
    secrets = Secrets(["tok-5f1c9a77"])
    rules = settings_of([{"when": {"args.key": "*"}, "then": "deny", "because": "No keys."}]).rules
    facts = Facts(tool("x", "y"), agent(), {"key": "tok-5f1c9a77" + "x" * 1000}, NOON)
    why = RuleBook(rules, secrets.redact).ruling(facts).why
    assert why.startswith("No keys. (args.key")
    assert "5f1c9a77" not in why
    assert len(why) < 400


_KEYS = st.sampled_from(["server", "agent", "args.a", "is", "annotation"])
_VALUES = st.sampled_from(["red", "blue", "not red", "r*"])
_THENS = st.sampled_from(["allow", "ask", "deny", "is red", "is blue", "limit", "prefer"])
_RULES = st.lists(
    st.tuples(st.integers(0, 10**6), st.dictionaries(_KEYS, _VALUES, max_size=2), _THENS),
    max_size=12,
    unique_by=lambda x: x[0],
)


def rule_of(number: int, when: dict[str, str], then: str) -> dict[str, Any]:
    when = {x: "read_only" if x == "annotation" else y for x, y in when.items()}
    outcome: Any = {"limit": {"limit": "3 a run"}, "prefer": {"prefer": 0.1}}.get(then, then)
    if then.startswith("is "):
        when.pop("is", None) if when.get("is", "").startswith("not") else None
        outcome = {"is": then.removeprefix("is ")}
    return {"name": f"drawn {number}", "when": when, "then": outcome}


BOTH = [{"when": {"server": "never"}, "then": {"is": x}} for x in ("red", "blue")]


@settings(max_examples=25, deadline=None)
@given(_RULES, st.sampled_from(["red", "blue"]), st.lists(st.sampled_from(["red", "blue", "x"])))
def test_the_order_of_rules_does_not_matter_and_the_strictest_wins(
    numbered_rules: list[Any], server: str, values: list[str]
):
    rules = [*BOTH, *(rule_of(*x) for x in numbered_rules)]
    of, arguments = tool(server, "red"), {"a": values}
    ruling = judge(rules, of, arguments)
    other = judge(random.Random(1).sample(rules, len(rules)), of, arguments)
    assert (ruling.word, ruling.rule, ruling.words) == (other.word, other.rule, other.words)
    assert sorted(ruling.limits) == sorted(other.limits)
    assert judge([*rules, {"then": "deny", "when": {}}], of, arguments).word == "deny"
    deriving = [
        {**x, "name": f"also {x['name']}"} for x in rules[2:] if isinstance(x["then"], dict)
    ]
    alone = [judge([*BOTH, *deriving, x], of, arguments).word for x in rules]
    assert ruling.word == max(alone, key=["", "allow", "ask", "deny"].index)


def test_a_mistake_in_a_rule_is_an_error(tmp_path: Path):
    """A misspelt condition is not read as text; settings/data/answers.json has more of them."""
    rows: list[tuple[Any, str]] = [
        ({"when": {"sever": "x"}, "then": "deny"}, "server"),
        ({"when": {"agent": "NOT coder"}, "then": "deny"}, "looks like a condition with 'not'"),
        ({"when": {"args.n": "> 5 EUR"}, "then": "deny"}, "not a valid comparison"),
        ("there_is_no_such_file.yaml", "no file"),
    ]
    for rule, says in rows:
        with pytest.raises(SettingsError, match=says) as failure:
            settings_of([rule], tmp_path)
        assert failure.value.key_path.startswith("rules")
    with pytest.raises(SettingsError, match="Rename it to 'rules'"):
        settings_from({"mcpServers": {}, "policies": [{"when": {"server": "x"}, "then": "deny"}]})


def test_a_yaml_file_means_what_it_says_or_is_reported(tmp_path: Path):
    """As in the core schema of YAML 1.2, only `true` and `false` are booleans; a time is a text."""
    file = tmp_path / "rules.yaml"
    file.write_text(
        "- {when: {args.reply: no, args.fast: true, args.id: 7.0}, then: ask}\n"
        "- {when: {time: 22:00-06:00, args.at: 22:00, args.day: 2026-03-12}, then: deny}\n"
    )
    first, second = settings_of("rules.yaml", tmp_path).rules
    assert [x.checks[0].what for x in first.when] == ["no", True, 7.0]
    assert [x.checks[0].what for x in second.when] == [(1320, 360), "22:00", "2026-03-12"]
    for text, says in (
        ("- {when: {server: a, server: b}, then: deny}", "more than once"),
        ("rules: 7", "must be a list"),
        ("- !!python/object/apply:os.system ['true']", "not YAML"),
        ("- &a [*a]", "aliases and `<<` are not"),
        ("a\0b", "not YAML"),
        ("- {when: {server: x}, then: deny}\n---\n- {}", "line 2, column 1: this is not YAML"),
        ("[" * 5000, "nested too deeply|not YAML"),
        ("- &a {when: {server: a}, then: deny}\n- {<<: *a, then: allow}", "`<<` are not"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError, match=says):
            settings_of("rules.yaml", tmp_path)


def gate_of(rules: Any) -> RuleGate:
    return RuleGate(settings_of(rules).rules, str, now=lambda: NOON)


def pass_gate(gate: RuleGate, of: Tool, caller: Caller) -> str:
    """Return what a denied call's model reads, or ""."""

    async def go() -> str:
        try:
            await gate.count(await gate.judge(ToolInvocation(of, {}, caller)))
        except RuleDenied as why:
            return why.for_model
        return ""

    return anyio.run(go)


def test_a_limit_counts_the_calls_of_a_run():
    gate = gate_of([{"name": "few", "when": {"server": "search"}, "then": {"limit": "5 a run"}}])
    who, search = agent(), tool("search", "find")
    assert [pass_gate(gate, search, who) for _ in range(6)] == [
        *[""] * 5,
        "The tool 'find' was not called: the rule 'few' allows 5 a run, which are used up. "
        "Do without it.",
    ]
    assert pass_gate(gate, tool("other", "find"), who) == ""
    assert pass_gate(gate, search, agent()) == ""


# Real calls


def test_a_denied_call_is_not_made_and_the_model_reads_why():
    """A rule that asks counts even if a word of `approval` allows the call."""
    rules = [
        {"name": "contracts", "when": {"args.paper": "contract*"}, "then": "deny"},
        {"name": "papers", "when": {"args.paper": "paper"}, "then": "ask"},
        {"when": {"tool": "shred"}, "then": "allow"},
    ]
    clerk = Clerk("no")
    with shredding(clerk, rules, approval="allow") as bridge:
        assert shred(bridge, paper="contract 7") == (
            "The tool 'shred' was not called: the rule 'contracts' does not allow it, because "
            "args.paper, \"contract 7\", fits 'contract*'. Do without it."
        )
        assert shred(bridge, tool="count") == "0"
        assert shred(bridge, paper="letter") == "shredded letter"
        assert shred(bridge, Caller("person"), paper="contract 7") == "shredded contract 7"
        assert "was not approved" in shred(bridge, paper="paper")
    (request,) = clerk.requests
    why = "because args.paper, \"paper\", is 'paper'"
    assert request.reason == f"the rule 'papers' asks first, {why}"


def test_a_limit_a_day_counts_the_calls_of_every_process(tmp_path: Path):
    """A script that runs every hour gets no more calls than one that runs all day."""
    day = {"then": {"limit": "2 a day"}}
    rules = [
        {"name": "few", "when": {"tool": "count", "agent": "helper"}, **day},
        {"name": "of contracts", "when": {"args.paper": "contract*"}, **day},
    ]
    store, other = tmp_path / "history.db", agent("other")
    with shredding(rules=rules, store=store) as bridge:
        assert shred(bridge, tool="count") == "0"
        assert shred(bridge, other, "count") == "0"
        bridge.call_tool("shredder", "count")
        shred(bridge, paper="letter")
    with shredding(rules=rules, store=store) as bridge:
        assert shred(bridge, tool="count") == "0"
        assert "the rule 'few' allows 2 a day" in shred(bridge, tool="count")
        assert shred(bridge, other, "count") == "0"
        assert "used up" not in shred(bridge, paper="contract"), "letters do not count"
    with shredding(rules=rules, store="postgresql://nobody@127.0.0.1:9/none") as bridge:
        assert "cannot be counted" in shred(bridge, tool="count")
        assert shred(bridge, Caller("person"), "count") == "0"


def test_a_tool_that_is_never_allowed_is_not_offered_and_one_that_may_be_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    rules = [
        {"name": "no counts", "when": {"tool": "count", "agent": "not clerk"}, "then": "deny"},
        {"when": {"tool": "shred", "time": "00:00-24:00"}, "then": "deny"},
    ]
    write_settings(tmp_path, {"shredder": shredder_entry()}, rules=rules)
    ctx = ctx_with("shredder")
    with model_agent(ctx, calls(("shredder_count", {})), calls(("shredder_shred", PAPER))) as model:
        run(ctx)
    assert {"shredder_shred", "shredder_rename"} <= {*tools_of_request(model)}
    assert "shredder_count" not in tools_of_request(model)
    count = model.requests[1].body["messages"][-1]["content"]
    assert "is not for this agent: the rule 'no counts' does not allow it" in count
    assert "because tool is 'count', and agent is not 'clerk'" in count
    why = "because tool is 'shred', and time is 00:00-24:00"
    assert f"does not allow it, {why}" in last_message(model)


def test_a_preferred_tool_comes_first_among_equals():
    rules = [{"name": "ours", "when": {"server": "b"}, "then": {"prefer": 0.1}}]
    servers = {name: shredder_entry() for name in ("a", "b")}
    for own, order in (([], "ab"), (rules, "ba")):
        with Bridge({"mcpServers": servers, "rules": own}) as bridge:
            results = bridge.search_tools("shred a paper", limit=2)
        assert "".join(x.tool.source for x in results) == order
    assert "preferred by the rule 'ours'" in results[0].reasons
