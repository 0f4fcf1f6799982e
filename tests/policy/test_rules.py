"""What people want to write as rules, what follows from it, and that nothing slips through."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.agents_in_ctx import use_server
from tests.support.model_agents import agent as model_agent
from tests.support.model_agents import offered, run, told
from tests.support.model_endpoint import calls
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import Bridge, SettingsError, settings_from
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.approval import Ruling, RunFacts
from xai_mcp_agent.core.calls import Caller, ToolInvocation
from xai_mcp_agent.core.errors import NotApproved, RuleDenied
from xai_mcp_agent.core.tools import Tool, ToolAnnotations, ToolKey
from xai_mcp_agent.policy.conditions import Facts
from xai_mcp_agent.policy.rulebook import RuleBook
from xai_mcp_agent.policy.rules import RuleGate
from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.settings.models import Settings

NOON, NIGHT = datetime(2026, 11, 23, 12, 0), datetime(2026, 11, 23, 23, 30)
SECONDS = 30.0
PAPER = {"paper": "contract"}
UNTRUSTED = [
    {"when": {"server": ["web", "mail"], "annotation": "open_world"}, "then": {"is": "untrusted"}},
    {"when": {"tool": ["*send*", "*post*"]}, "then": {"is": "leaves"}},
    {"when": {"is": "leaves", "run.was": "untrusted"}, "then": "ask"},
]
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


def tool(server: str, name: str, *params: str, **annotations: bool) -> Tool:
    properties = {x: {"type": "string"} for x in params}
    schema = {"type": "object", "properties": properties}
    said = ToolAnnotations(**annotations)
    return Tool(ToolKey("mcp", server, name), "", schema, annotations=said)


def written(rules: Any, folder: Path | None = None) -> Settings:
    return settings_from({"mcpServers": {}, "rules": rules}, folder=folder)


def book(rules: Any) -> RuleBook:
    return RuleBook(written(rules).rules, str)


def agent(name: str = "helper", toolbelt: str = "", facts: RunFacts | None = None) -> Caller:
    return Caller("agent", name, toolbelt, facts=facts or RunFacts())


def said(
    rules: Any,
    of: Tool,
    arguments: Mapping[str, Any] | None = None,
    *,
    caller: Caller | None = None,
    now: datetime = NOON,
) -> Ruling:
    found = Facts(of, caller or agent(), dict(arguments or {}), now)
    return book(rules).ruling(found)


def before(rules: Any, of: Tool, caller: Caller | None = None) -> Ruling:
    """What is said where only the tool is known."""
    return book(rules).ruling(Facts(of, caller or agent()))


def test_1_a_server_is_denied_except_for_what_only_reads() -> None:
    rules = [{"when": {"server": "files", "annotation": "not read_only"}, "then": "deny"}]
    assert said(rules, tool("files", "write")).word == "deny"
    assert said(rules, tool("files", "read", read_only=True)).word == ""
    assert said(rules, tool("other", "write")).word == ""


def test_3_a_derived_word_asks_for_paths_outside_of_the_workspace() -> None:
    cases: list[tuple[Any, str]] = [
        ("/desk/a.txt", ""),
        ("a.txt", ""),
        ("/desk", ""),
        ("/etc/passwd", "ask"),
        ("/desk/../etc/passwd", "ask"),
        ("../etc/passwd", "ask"),
        ("/desktop/a.txt", "ask"),
        ("file:///etc/passwd", "ask"),
        ("file:///desk/a.txt", ""),
        ("~/a.txt", "ask"),
        ("/desk/a\0b", "ask"),
        (["/desk/a", "/etc/b"], "ask"),
        ({"deep": ["/etc/b"]}, "ask"),
        (7, "ask"),
    ]
    for path, word in cases:
        ruling = said(WRITES, tool("files", "write_file", "path"), {"path": path})
        assert ruling.word == word
        assert ruling.words == {"writes_files"}


def test_4_a_server_is_for_one_agent() -> None:
    rules = [{"when": {"server": "git", "agent": "not coder"}, "then": "deny"}]
    assert said(rules, tool("git", "log")).word == "deny"
    assert said(rules, tool("git", "log"), caller=agent("coder")).word == ""
    assert before(rules, tool("git", "log")).word == "deny"


def test_5_no_mail_at_night() -> None:
    rules = [{"when": {"server": "mail", "time": "22:00-06:00"}, "then": "deny"}]
    assert said(rules, tool("mail", "send"), now=NIGHT).word == "deny"
    assert said(rules, tool("mail", "send"), now=NIGHT.replace(hour=5)).word == "deny"
    assert said(rules, tool("mail", "send"), now=NIGHT.replace(hour=6, minute=0)).word == ""
    monday = [{"when": {"day": "sat-mon"}, "then": "deny"}]
    assert said(monday, tool("mail", "send")).word == "deny"
    assert said([{"when": {"day": "tue-fri"}, "then": "deny"}], tool("a", "b")).word == ""


def test_6_five_searches_a_run() -> None:
    gate = gate_of([{"name": "few", "when": {"server": "search"}, "then": {"limit": "5 a run"}}])
    who = agent()
    assert [pass_gate(gate, tool("search", "find"), who) for _ in range(6)] == [
        *[""] * 5,
        "The tool 'find' was not called: the rule 'few' allows 5 a run, which are used up. "
        "Do without it.",
    ]
    assert pass_gate(gate, tool("other", "find"), who) == ""
    assert pass_gate(gate, tool("search", "find"), agent()) == ""


def test_7_above_an_amount_is_asked_for() -> None:
    """What cannot be compared is not let through."""
    cases: list[tuple[Any, str]] = [
        (99, ""),
        (100, ""),
        (100.5, "ask"),
        ("150", "ask"),
        ("much", "ask"),
        (True, "ask"),
    ]
    for amount, word in cases:
        rules = [{"when": {"tool": "pay", "args.amount": "> 100"}, "then": "ask"}]
        assert said(rules, tool("bank", "pay", "amount"), {"amount": amount}).word == word


def test_8_mail_only_inside_of_the_domain() -> None:
    rules = [{"when": {"tool": "send", "args.to": "not *@example.org"}, "then": "deny"}]
    send = tool("mail", "send", "to")
    assert said(rules, send, {"to": "a@example.org"}).word == ""
    assert said(rules, send, {"to": "a@example.com"}).word == "deny"
    assert said(rules, send, {"to": ["a@example.org", "b@evil.example"]}).word == "deny"


def test_10_after_untrusted_text_was_read_it_is_asked_before_anything_leaves() -> None:
    facts = RunFacts()
    send, read = tool("chat", "post_message"), tool("web", "fetch", open_world=True)
    assert said(UNTRUSTED, send, caller=agent(facts=facts)).word == ""
    facts.ended(read.key, said(UNTRUSTED, read).words, is_error=False)
    ruling = said(UNTRUSTED, send, caller=agent(facts=facts))
    assert (ruling.word, ruling.why) == (
        "ask",
        "it is 'leaves', and something before in this run is 'untrusted'",
    )
    assert said(UNTRUSTED, tool("chat", "read"), caller=agent(facts=facts)).word == ""


def test_12_it_is_deployed_only_after_the_tests_succeeded() -> None:
    rules = [{"when": {"tool": "deploy", "run.succeeded": "not run_tests"}, "then": "deny"}]
    facts, deploy = RunFacts(), tool("ci", "deploy")
    assert said(rules, deploy, caller=agent(facts=facts)).word == "deny"
    facts.ended(ToolKey("mcp", "ci", "run_tests"), (), is_error=True)
    assert said(rules, deploy, caller=agent(facts=facts)).word == "deny"
    facts.ended(ToolKey("mcp", "ci", "run_tests"), (), is_error=False)
    assert said(rules, deploy, caller=agent(facts=facts)).word == ""


def test_what_depends_on_the_call_is_reported_beforehand() -> None:
    ruling = before(WRITES, tool("files", "write_file", "path"))
    assert (ruling.word, [x.rule for x in ruling.perhaps]) == ("", ["keep to the workspace"])
    derived = [
        {"when": {"args.path": "*.key"}, "then": {"is": "a_key"}},
        {"name": "keys", "when": {"is": "a_key"}, "then": "deny"},
    ]
    assert [x.rule for x in before(derived, tool("files", "read", "path")).perhaps] == ["keys"]


def test_a_value_that_is_not_given_is_what_the_schema_says() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "default": "/"}}}
    clear = Tool(ToolKey("mcp", "files", "delete_all"), "", schema)
    assert said(WRITES, clear).word == "ask"


def test_no_other_value_hides_the_one_that_a_path_means() -> None:
    """A model may send names that no schema has, and lists where one thing is meant."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"order": {"amount": 1000}}, "ask"),
        ({"order.amount": 1, "order": {"amount": 1000}}, "ask"),
        ({"order": {"amount": 1}, "order.amount": 1000}, "ask"),
        ({"order": [{"amount": 1}, {"amount": 1000}]}, "ask"),
        ({"order": [[[{"amount": 1000}]]]}, "ask"),
        ({"order": {"amount": 1}}, ""),
        ({"order": "amount"}, ""),
    ]
    for arguments, word in cases:
        rules = [{"when": {"args.order.amount": "> 100"}, "then": "ask"}]
        assert said(rules, tool("shop", "pay"), arguments).word == word


def test_reasons_are_short_and_hide_secrets() -> None:
    secrets = Secrets(["tok-5f1c9a77"])
    rules = written([{"when": {"args.key": "*"}, "then": "deny", "because": "No keys."}]).rules
    found = Facts(tool("x", "y"), agent(), {"key": "tok-5f1c9a77" + "x" * 1000}, NOON)
    why = RuleBook(rules, secrets.redact).ruling(found).why
    assert why.startswith("No keys. (args.key")
    assert "5f1c9a77" not in why
    assert len(why) < 400


WORDS = ["", "allow", "ask", "deny"]
RULES = st.lists(
    st.builds(
        lambda number, when, then: (number, when, then),
        st.integers(0, 10**6),
        st.dictionaries(
            st.sampled_from(["server", "agent", "args.a", "is", "annotation"]),
            st.sampled_from(["red", "blue", "not red", "r*"]),
            max_size=2,
        ),
        st.sampled_from(["allow", "ask", "deny", "is red", "is blue", "limit", "prefer"]),
    ),
    max_size=12,
    unique_by=lambda x: x[0],
)


def as_written(one: tuple[int, dict[str, str], str]) -> dict[str, Any]:
    number, when, then = one
    when = {x: "read_only" if x == "annotation" else y for x, y in when.items()}
    outcome: Any = then
    if then.startswith("is "):
        when.pop("is", None) if when.get("is", "").startswith("not") else None
        outcome = {"is": then.removeprefix("is ")}
    elif then == "limit":
        outcome = {"limit": "3 a run"}
    elif then == "prefer":
        outcome = {"prefer": 0.1}
    return {"name": f"drawn {number}", "when": when, "then": outcome}


BOTH = [{"when": {"server": "never"}, "then": {"is": x}} for x in ("red", "blue")]


@settings(max_examples=60, deadline=None)
@given(RULES, st.sampled_from(["red", "blue"]), st.lists(st.sampled_from(["red", "blue", "x"])))
def test_the_order_of_rules_says_nothing_and_the_strictest_wins(
    drawn: list[tuple[int, dict[str, str], str]], server: str, values: list[str]
) -> None:
    rules = [*BOTH, *map(as_written, drawn)]
    shuffled = random.Random(1).sample(rules, len(rules))
    of, arguments = tool(server, "red"), {"a": values}
    ruling = said(rules, of, arguments)
    other = said(shuffled, of, arguments)
    assert (ruling.word, ruling.rule, ruling.words) == (other.word, other.rule, other.words)
    assert sorted(ruling.limits) == sorted(other.limits)
    stricter = said([*rules, {"then": "deny", "when": {}}], of, arguments)
    assert stricter.word == "deny"
    alone = [said([*BOTH, *_deriving(rules), x], of, arguments).word for x in rules]
    assert ruling.word == max(alone, key=WORDS.index)


def _deriving(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**x, "name": f"also {x['name']}"} for x in rules[2:] if isinstance(x["then"], dict)]


def test_what_is_wrong_in_a_rule_is_reported_and_nothing_goes_on_without_it(tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        ({"when": {"sever": "x"}, "then": "deny"}, "server"),
        ({"when": {"server": "x"}, "then": "denied"}, "must say what the rule does"),
        ({"when": {"server": "x"}}, "is missing"),
        ({"when": {"server": "x"}, "then": {"limit": "often"}}, "not a valid limit"),
        ({"when": {"server": "x"}, "then": {"prefer": 7}}, "at most 1"),
        ({"when": {"server": 7}, "then": "deny"}, "must be a text"),
        ({"when": {"server": []}, "then": "deny"}, "must not be empty"),
        ({"when": {"server": "not "}, "then": "deny"}, "must not be empty"),
        ({"when": {"server": "regex:("}, "then": "deny"}, "not a valid pattern"),
        ({"when": {"annotation": "dangerous"}, "then": "deny"}, "unknown annotation"),
        ({"when": {"time": "at night"}, "then": "deny"}, "not a time range"),
        ({"when": {"day": "someday"}, "then": "deny"}, "not a day"),
        ({"when": {"is": "unheard"}, "then": "deny"}, "no rule sets it"),
        ({"when": {"run.was": "unheard"}, "then": "deny"}, "no rule sets it"),
        ({"wen": {}, "then": "deny"}, "unknown key"),
        ({"when": {"is": "not a"}, "then": {"is": "a"}}, "must not test"),
        ({"when": {"server": "${NOT_SET_ANYWHERE}"}, "then": "deny"}, "not set"),
        ("there_is_no_such_file.yaml", "no file"),
        (7, "must be an object"),
    ]
    for rule, says in cases:
        with pytest.raises(SettingsError, match=says) as caught:
            written([rule], tmp_path)
        assert caught.value.key_path.startswith("rules")


def test_a_yaml_file_means_what_it_says(tmp_path: Path) -> None:
    """YAML 1.2, the core schema: only `true` and `false` are booleans, a time is a text."""
    (tmp_path / "rules.yaml").write_text(
        "- {when: {args.reply: no, args.fast: true, args.id: 7.0}, then: ask}\n"
        "- {when: {time: 22:00-06:00, args.at: 22:00, args.day: 2026-03-12}, then: deny}\n"
    )

    first, second = written("rules.yaml", tmp_path).rules

    assert [x.checks[0].what for x in first.when] == ["no", True, 7.0]
    assert [x.checks[0].what for x in second.when] == [(1320, 360), "22:00", "2026-03-12"]


def test_a_file_of_rules_that_is_wrong_is_reported(tmp_path: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("- {when: {server: a, server: b}, then: deny}", "more than once"),
        ("- {when: [", "not YAML"),
        ("rules: 7", "must be a list"),
        ("- !!python/object/apply:os.system ['true']", "not YAML"),
        ("- &a [*a]", "aliases and `<<` are not"),
        ("a\0b", "not YAML"),
        ("- {when: {server: x}, then: deny}\n---\n- {}", "line 2, column 1: this is not YAML"),
        ("[" * 5000, "nested too deeply|not YAML"),
        ("- &a {when: {server: a}, then: deny}\n- {<<: *a, then: allow}", "`<<` are not"),
    ]
    for text, says in cases:
        (tmp_path / "rules.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError, match=says):
            written("rules.yaml", tmp_path)


def gate_of(rules: Any) -> RuleGate:
    return RuleGate(written(rules).rules, str, now=lambda: NOON)


def pass_gate(gate: RuleGate, of: Tool, caller: Caller) -> str:
    """What a call is told."""

    async def go() -> str:
        try:
            await gate.count(await gate.judge(ToolInvocation(of, {}, caller)))
        except RuleDenied as why:
            return why.for_model
        return ""

    return anyio.run(go)


def shred(bridge: Bridge, caller: Caller, name: str = "shred", **arguments: Any) -> str:
    """What the call gives, or for what reason it was not made."""

    async def go(operations: Operations) -> str:
        with anyio.fail_after(SECONDS):
            call = operations.for_caller(caller).call_tool("shredder", name, arguments)
            return (await call).text

    try:
        return bridge.run(go)
    except NotApproved as refused:
        return refused.for_model


def shredding(rules: Any, **options: Any) -> Bridge:
    servers = {"shredder": shredder_entry()}
    return Bridge({"mcpServers": servers, "rules": rules}, **options)


def test_a_denied_call_is_not_made_and_the_model_reads_why() -> None:
    rules = [{"name": "contracts", "when": {"args.paper": "contract*"}, "then": "deny"}]
    rules += [{"when": {"tool": "shred"}, "then": "allow"}]
    with shredding(rules) as bridge:
        told = shred(bridge, agent(), paper="contract 7")
        assert told == (
            "The tool 'shred' was not called: the rule 'contracts' does not allow it, because "
            "args.paper, \"contract 7\", fits 'contract*'. Do without it."
        )
        assert shred(bridge, agent(), "count") == "0"
        assert shred(bridge, agent(), paper="letter") == "shredded letter"
        assert shred(bridge, Caller("person"), paper="contract 7") == "shredded contract 7"


def test_a_call_that_a_rule_asks_for_is_asked_for_though_a_word_allows_it() -> None:
    asked: list[str] = []

    def approve(request: Any) -> str:
        asked.append(request.reason)
        return "no"

    rules = [{"name": "papers", "when": {"tool": "shred"}, "then": "ask"}]
    entry = {**shredder_entry(), "approval": "allow"}
    with Bridge({"mcpServers": {"shredder": entry}, "rules": rules}, approve=approve) as bridge:
        assert "was not approved" in shred(bridge, agent(), paper="letter")
    assert asked == ["the rule 'papers' asks first, because tool is 'shred'"]


def test_a_limit_a_day_counts_the_calls_of_every_process(tmp_path: Path) -> None:
    """A script that runs every hour has no more of them than one that runs all day."""
    day = {"then": {"limit": "2 a day"}}
    rules = [
        {"name": "few", "when": {"tool": "count", "agent": "helper"}, **day},
        {"name": "of contracts", "when": {"args.paper": "contract*"}, **day},
    ]
    store = tmp_path / "history.db"
    with shredding(rules, store=store) as bridge:
        assert shred(bridge, agent(), "count") == "0"
        assert shred(bridge, agent("other"), "count") == "0"
        bridge.call_tool("shredder", "count")
        shred(bridge, agent(), paper="letter")
    with shredding(rules, store=store) as bridge:
        assert shred(bridge, agent(), "count") == "0"
        assert "the rule 'few' allows 2 a day" in shred(bridge, agent(), "count")
        assert shred(bridge, agent("other"), "count") == "0"
        assert "used up" not in shred(bridge, agent(), paper="contract"), "letters do not count"
    with shredding(rules, store=store) as bridge:
        assert "the rule 'few' allows 2 a day" in shred(bridge, agent(), "count")
    with shredding(rules, store="memory") as bridge:
        assert shred(bridge, agent(), "count") == "0"


def test_where_the_calls_of_today_cannot_be_counted_none_is_made() -> None:
    rules = [{"when": {"tool": "count"}, "then": {"limit": "2 a day"}}]
    with shredding(rules, store="postgresql://nobody@127.0.0.1:9/none") as bridge:
        assert "cannot be counted" in shred(bridge, agent(), "count")
        assert shred(bridge, Caller("person"), "count") == "0"


def test_what_is_never_allowed_is_not_offered_and_what_may_be_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    rules = [
        {"name": "no counts", "when": {"tool": "count", "agent": "not clerk"}, "then": "deny"},
        {"when": {"tool": "shred", "time": "00:00-24:00"}, "then": "deny"},
    ]
    document = {"mcpServers": {"shredder": shredder_entry()}, "rules": rules}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(document), encoding="utf-8")
    ctx: dict[str, Any] = {}
    use_server(ctx, "shredder", None)
    with model_agent(ctx, calls(("shredder_count", {}))) as endpoint:
        run(ctx)
    offered_then = {*offered(endpoint)}
    assert {"shredder_shred", "shredder_rename"} <= offered_then
    assert "shredder_count" not in offered_then
    assert "is not for this agent: the rule 'no counts' does not allow it" in told(endpoint)
    assert "because tool is 'count', and agent is not 'clerk'" in told(endpoint)
    with model_agent(ctx, calls(("shredder_shred", PAPER))) as endpoint:
        run(ctx)
    assert "does not allow it, because tool is 'shred', and time is 00:00-24:00" in told(endpoint)


def test_what_is_preferred_comes_first_among_equals() -> None:
    rules = [{"name": "ours", "when": {"server": "b"}, "then": {"prefer": 0.1}}]
    servers = {name: shredder_entry() for name in ("a", "b")}
    with Bridge({"mcpServers": servers}) as bridge:
        assert [x.tool.source for x in bridge.search_tools("shred a paper", limit=2)] == ["a", "b"]
    with Bridge({"mcpServers": servers, "rules": rules}) as bridge:
        found = bridge.search_tools("shred a paper", limit=2)
    assert [x.tool.source for x in found] == ["b", "a"]
    assert "preferred by the rule 'ours'" in found[0].reasons
