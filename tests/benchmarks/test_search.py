"""The parts of `make bench-search`, on a few tools in a folder; nothing is installed or loaded."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import page
from benchmarks.peers.environments import Environment
from benchmarks.search import __main__ as run
from benchmarks.search import helpers, quality, speed, tasks, tokens
from benchmarks.search.helpers import Helper
from benchmarks.search.quality import LEXICAL, RIVAL, Scored
from benchmarks.search.sets import read_sets, score
from benchmarks.search.speed import Speed
from benchmarks.search.tokens import Bundles
from benchmarks.search.vectors import KeptVectors
from tests.support.many_tools import many_tools
from tests.support.warm_python import warm_python
from xai_mcp_agent.search.embeddings import Embed

# Says how many lines it was given, and the share of them whose first is what is needed.
SCORER = """
import json, sys
labels = [json.loads(x) for x in open(sys.argv[1])]
ranked = [json.loads(x)["ranked"] for x in open(sys.argv[2])]
if len(labels) != len(ranked):
    sys.exit("too few")
share = sum(x[:1] == y["relevant"] for x, y in zip(ranked, labels)) / len(labels)
print(json.dumps({"ndcg@10": share, "recall@5": share, "recall@10": share}))
"""
TOOLS = [
    {
        "id": f"{server}/{name}",
        "server": server,
        "name": name,
        "description": description,
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
    }
    for server, name, description in (
        ("mail", "send_message", "Sends an e-mail to somebody."),
        ("files", "read_file", "Reads a text file."),
        ("sky", "forecast", "Tells the weather of a day.\u2028In any town."),
    )
]
QUERIES = [("write a mail", "mail/send_message"), ("weather tomorrow", "sky/forecast")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two sets; one has no queries."""
    for name in ("a_first", "b_more"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        lines = (json.dumps(x, ensure_ascii=False) + "\n" for x in TOOLS)
        (folder / "tools.jsonl").write_text("".join(lines), encoding="utf-8")
    queries = (json.dumps({"query": x, "relevant": [y]}) + "\n" for x, y in QUERIES)
    (tmp_path / "data" / "a_first" / "queries.jsonl").write_text("".join(queries))
    (tmp_path / "scorer.py").write_text(SCORER)
    return tmp_path / "data"


@pytest.fixture
def scorer(data: Path) -> Path:
    return data.parent / "scorer.py"


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers that need nothing: FastMCP finds the last tool, tokens are quarters of letters."""

    def ask(of: Helper, job: Any) -> Any:
        if of is helpers.TOKENIZER:
            return [len(x) // 4 for x in job]
        if job.get("shows"):
            return {"definitions": [{"name": "search_tools"}], "answers": ["an answer"] * 40}
        places = len(job["tools"]) - 1
        return {"found": [[places]] * len(job["queries"]), "seconds": [0.5] * 2}

    monkeypatch.setattr(Helper, "ask", ask)


# Sets and their scores


def test_a_set_is_read_with_its_tools_and_queries_and_only_line_feeds_end_a_line(data: Path):
    first, more = read_sets(data)
    assert (first.name, len(first.tools), first.queries) == ("a_first", 3, [x for x, _ in QUERIES])
    assert (more.name, len(more.tools), more.queries) == ("b_more", 3, [])


def test_a_folder_without_sets_is_an_error_that_says_what_is_missing(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no folder with tools"):
        read_sets(tmp_path)


def test_what_the_scorer_says_is_reported_also_when_it_complains(data: Path, scorer: Path):
    (first, _) = read_sets(data)
    assert score(scorer, first, [["mail/send_message"], ["files/read_file"]])["ndcg@10"] == 0.5
    with pytest.raises(ValueError, match="a_first: too few"):
        score(scorer, first, [[]])


# Quality


def test_both_ways_are_scored_and_the_best_is_bold(data: Path, scorer: Path, helper: None):
    sets = read_sets(data)
    table = quality.measure(sets, scorer, None)
    assert table[LEXICAL]["a_first"].figures["ndcg@10"] == 1.0
    assert table[RIVAL]["a_first"].figures["ndcg@10"] == 0.5
    line = "| a_first | 3 | 2 | **1.000** | 0.500 |"
    assert line in quality.markdown(table, sets)
    assert quality.misses(table) == []
    means = quality.means_over_sets(table)
    assert "by words 1.000 (at least 0.82), FastMCP BM25 0.500" in means
    assert "FastMCP BM25 500.0 ms" in means


def test_a_set_in_which_the_rival_is_before_us_is_reported(helper: None):
    ours, theirs = ({"ndcg@10": x, "recall@5": x, "recall@10": x} for x in (0.75, 0.8))
    table = {LEXICAL: {"a": Scored(ours, 1.0)}, RIVAL: {"a": Scored(theirs, 1.0)}}
    assert quality.misses(table) == [
        "by words: recall@10 is 0.750, not 0.82",
        "by words: FastMCP BM25 is before us in a",
    ]


def test_a_rival_that_cannot_be_had_is_left_out_and_told(
    data: Path, scorer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fails(*_: object) -> Any:
        raise OSError("no such version")

    monkeypatch.setattr(Helper, "ask", fails)
    assert list(quality.measure(read_sets(data), scorer, None)) == [LEXICAL]
    assert "FastMCP BM25 is left out: no such version" in capsys.readouterr().err


def test_the_rivals_tools_have_names_of_their_own():
    named = quality.named_for_rival([*TOOLS, TOOLS[0], {**TOOLS[0], "server": ""}])
    assert [x["name"] for x in named][-2:] == ["mail_send_message ", "send_message"]
    assert len({x["name"] for x in named}) == len(named)


# Tasks


@pytest.fixture
def with_tasks(data: Path) -> Path:
    """The two sets that tasks come from, and one with more tools than a budget holds."""
    for name in ("livemcp", "bfcl_live", "registry"):
        (data / name).mkdir()
        own = [{**x, "server": f"{x['server']}_{name}"} for x in TOOLS]
        more = [{**x, "id": x["name"], "server": ""} for x in many_tools()]
        lines = map(json.dumps, more if name == "registry" else own)
        (data / name / "tools.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name, kind in (("livemcp", "step"), ("bfcl_live", "simple")):
        queries = [
            {"query": f"Send a mail, {name}", "relevant": [["mail/send_message"]], "kind": kind},
            {"query": "Two things", "relevant": ["mail/send_message", "sky/forecast"]},
        ]
        lines = (json.dumps({"kind": kind, **x}) for x in queries)
        (data / name / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return data


def test_tasks_are_queries_that_want_one_tool_and_always_the_same(with_tasks: Path):
    sets = read_sets(with_tasks)
    work = tasks.choose(sets, tasks=2)
    assert [x.asked for x in work.tasks] == ["Send a mail, livemcp", "Send a mail, bfcl_live"]
    assert work.tasks[0].needed == {"mail_livemcp_send_message"}
    assert len({x["name"] for x in work.tools}) == 366
    assert work == tasks.choose(sets, tasks=2)


def test_tasks_are_done_by_real_agents_and_it_is_counted_what_they_call(
    with_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "executable", warm_python())  # for its servers
    work = tasks.choose(read_sets(with_tasks), tasks=2)
    found = tasks.measure(work, tmp_path, tasks.WAYS[:1])
    assert [x.late for x in found] == [False, False, True, True]
    assert [x.count for x in found] == [2, 2, 2, 2]
    assert tasks.misses(found) == []
    assert f"| {tasks.WAYS[0].name} | 2 of 2 | 2 of 2 |" in tasks.markdown(found)


def test_plain_requests_are_tasks_where_the_sets_have_their_tools(
    with_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sets = read_sets(with_tasks)
    assert tasks.plain(sets).tasks == []
    requests = tmp_path / "requests.txt"
    requests.write_text("mail_livemcp_send_message|Send a mail.\nunknown|Fly.\n", encoding="utf-8")
    monkeypatch.setattr(tasks, "_PLAIN", requests)
    (task,) = tasks.plain(sets).tasks
    assert (task.asked, task.needed) == ("Send a mail.", {"mail_livemcp_send_message"})


# Speed


def test_above_the_real_tools_a_catalog_has_copies_with_other_words(data: Path):
    sets = read_sets(data)
    tools = list(speed.catalog(sets, 40))
    assert len({x["id"] for x in tools}) == 40
    assert {x["description"] for x in tools[:6]} == {x["description"] for x in TOOLS}
    assert len({x["name"] for x in tools}) > 10
    assert tools == list(speed.catalog(sets, 40))


def test_each_size_is_timed_in_a_process(data: Path, tmp_path: Path):
    found = speed.measure(read_sets(data), tmp_path, sizes=(30,))
    assert [x.size for x in found] == [30]
    assert all(0 < x.p50 <= x.p99 for x in found)
    assert all(x.update > 0 and x.build_seconds > 0 for x in found)


def test_what_is_slower_than_it_should_be_is_reported():
    slow = Speed(5_000, 2.5, 1.0, 24.0, 0.1, 10.0)
    assert speed.misses([slow, Speed(500, 9.0, 9.0, 9.0, 9.0, 9.0)], 31.0) == [
        "5,000 tools: p99 is 24.0 ms, not 20",
        "5,000 tools: to build takes 2.50 s, not 2",
        "the import takes 31 ms, not 30",
    ]
    assert "| 5,000 | 2.50 (at most 2) | 1.0 | 24.0 (at most 20) |" in speed.markdown([slow], 1)


# Tokens


def test_the_estimate_is_held_against_the_count_of_every_bundle(data: Path, helper: None):
    first, _, both = tokens.measure_estimate(read_sets(data), bundles=5)
    assert (first.name, both.name) == ("a_first", "all together")
    assert first.least <= first.mean
    assert first.least_as_sent < first.least


def test_an_estimate_that_is_too_low_once_or_too_high_on_average_is_reported():
    assert tokens.misses([Bundles("a", 0.99, 1.3, 1.0, 1.0)]) == [
        "tokens of 20 tools of a are estimated at 0.99 of what they are",
        "tokens of a are estimated at 1.30 of what they are on average",
    ]


def test_a_turn_of_ours_has_two_tools_at_first_and_then_what_was_found(data: Path, helper: None):
    (turn,) = tokens.measure_turns(read_sets(data), sizes=(200,))
    assert turn.ours < turn.ours_after < tokens.BUDGET_TOKENS < turn.everything
    assert turn.theirs_after > turn.theirs


def test_two_tools_of_one_name_have_two_definitions():
    twins = [{**TOOLS[0], "id": x} for x in ("one", "other")]
    assert len({x.name for x in tokens.definitions(twins)}) == 2


# Helpers and vectors


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The running environment in place of those that would be made."""
    environment = Environment(sys.executable, {"x": "1"})
    monkeypatch.setattr(helpers, "environment_with", lambda *_: environment)


def a_helper(folder: Path, program: str) -> Helper:
    file = folder / "program.py"
    file.write_text(program)
    return Helper("it", str(file), "x", ("x==1",), ())


def test_a_helper_is_asked_once_for_the_same(tmp_path: Path, here: None):
    asked = tmp_path / "asked"
    noting = f"import sys; open({str(asked)!r}, 'a').write('.'); print(sys.stdin.read())"
    helper = a_helper(tmp_path, noting)
    kept = tmp_path / "kept"
    assert [helper.ask([1], kept), helper.ask([1], kept), helper.ask([2], kept)] == [[1], [1], [2]]
    assert asked.read_text() == ".."


def test_a_helper_that_fails_says_its_last_words_and_is_asked_again(tmp_path: Path, here: None):
    helper = a_helper(tmp_path, "import sys; sys.exit('nothing there')")
    for _ in range(2):
        with pytest.raises(OSError, match="nothing there"):
            helper.ask([], tmp_path / "kept")


def test_vectors_are_made_once_and_kept_for_the_next_run(tmp_path: Path):
    def load(_: Path) -> Embed:
        return lambda texts: [[len(x), 1.0] for x in texts]

    first = KeptVectors(tmp_path / "model", tmp_path, load)
    assert [list(x) for x in first(["abc", "", "abc"])] == [[3, 1], [0, 1], [3, 1]]
    assert first.made == 2
    (file,) = tmp_path.glob("*.jsonl")
    file.write_text(f'{file.read_text()}["cut off", "AA')
    again = KeptVectors(tmp_path / "model", tmp_path, load)
    assert [list(x) for x in again(["abc", "ab"])] == [[3, 1], [2, 1]]
    assert again.made == 1
    other = KeptVectors(tmp_path / "another", tmp_path, load)
    other(["abc"])
    assert other.made == 1


# The command


def test_a_run_of_some_parts_prints_them_and_leaves_the_page(
    data: Path, scorer: Path, helper: None, capsys: pytest.CaptureFixture[str]
):
    before = run.PAGE.read_text(encoding="utf-8")
    arguments = ["--data", str(data), "--scorer", str(scorer), "--only", "quality"]
    assert run.main(arguments) == 0
    assert "| a_first | 3 | 2 |" in capsys.readouterr().out
    assert run.PAGE.read_text(encoding="utf-8") == before


def test_a_whole_run_writes_its_tables_and_what_is_missed_between_the_marks(
    data: Path, scorer: Path, helper: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "page.md"
    file.write_text(f"a\n{page.begin(run.COMMAND)}\nold\n{page.END}\nz\n")
    monkeypatch.setattr(run, "PAGE", file)
    missed: tuple[str, list[str]] = ("### Speed\n\nSlow.", ["5,000 tools: too slow"])
    monkeypatch.setattr(run, "measure_speed", lambda _: missed)
    assert run.main(["--data", str(data), "--scorer", str(scorer)]) == 1
    text = file.read_text()
    assert text.startswith(f"a\n{page.begin(run.COMMAND)}\nMeasured on ")
    assert text.endswith(f"\n{page.END}\nz\n")
    assert [x in text for x in ("### Quality", "### Speed", "### Tokens")] == [True] * 3
    assert "Not measured: there is no set bfcl_live" in text
    assert "- 5,000 tools: too slow" in text


def test_a_part_that_there_is_not_is_refused(data: Path, scorer: Path):
    with pytest.raises(SystemExit):
        run.main(["--data", str(data), "--scorer", str(scorer), "--only", "beauty"])


def test_the_page_has_the_marks_of_the_command() -> None:
    assert page.begin(run.COMMAND) in run.PAGE.read_text(encoding="utf-8")
