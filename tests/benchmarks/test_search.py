"""The parts of `make bench-search`, on a few tools in a folder; nothing is installed or loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import page
from benchmarks.search import __main__ as run
from benchmarks.search import helpers, quality, tokens
from benchmarks.search.helpers import Helper
from benchmarks.search.quality import LEXICAL, RIVAL
from benchmarks.search.sets import read_sets

# Scores the share of queries whose first result is the right one.
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
        "id": f"{server}/{name}", "server": server, "name": name, "description": description,
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
    }
    for server, name, description in (
        ("mail", "send_message", "Sends an e-mail to somebody."),
        ("files", "read_file", "Reads a text file."),
        ("sky", "forecast", "Tells the weather of a day.\u2028In any town."),
    )
]  # fmt: skip
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
        return {"ranked": [[places]] * len(job["queries"]), "seconds": [0.5] * 2}

    monkeypatch.setattr(Helper, "ask", ask)


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


def test_the_estimate_is_held_against_the_count_of_every_bundle(data: Path, helper: None):
    first, _, both = tokens.measure_estimate(read_sets(data), bundles=5)
    assert (first.name, both.name) == ("a_first", "all together")
    assert first.least <= first.mean
    assert first.least_in_request < first.least


def test_a_whole_run_writes_its_tables_and_missed_goals_between_the_marks(
    data: Path, scorer: Path, helper: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "page.md"
    file.write_text(f"a\n{page.begin(run.COMMAND)}\nold\n{page.END}\nz\n")
    monkeypatch.setattr(page, "PAGE", file)
    missed: tuple[str, list[str]] = ("### Speed\n\nSlow.", ["5,000 tools: too slow"])
    monkeypatch.setattr(run, "measure_speed", lambda _: missed)
    assert run.main(["--data", str(data), "--scorer", str(scorer)]) == 1
    text = file.read_text()
    assert text.startswith(f"a\n{page.begin(run.COMMAND)}\nMeasured on ")
    assert text.endswith(f"\n{page.END}\nz\n")
    assert [x in text for x in ("### Quality", "### Speed", "### Tokens")] == [True] * 3
    assert "Not measured: there is no set bfcl_live" in text
    assert "- 5,000 tools: too slow" in text
