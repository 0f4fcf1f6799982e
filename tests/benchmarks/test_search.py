"""The parts of `make bench-search`, on a few tools in a folder; nothing is installed or loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import page
from benchmarks.search import __main__ as run
from benchmarks.search import helpers, quality, tokens
from benchmarks.search.helpers import Helper
from benchmarks.search.quality import LEXICAL, RIVAL
from benchmarks.search.sets import read_sets

SETS = Path(__file__).parents[1] / "data" / "tool_sets"
SCORER = SETS / "scorer.py"


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


def test_both_ways_are_scored_and_the_best_is_bold(helper: None):
    sets = read_sets(SETS)
    table = quality.measure(sets, SCORER, None)
    assert table[LEXICAL]["bfcl_live"].figures["ndcg@10"] == 1.0
    assert table[RIVAL]["bfcl_live"].figures["ndcg@10"] == 0.5
    line = "| bfcl_live | 7 | 2 | **1.000** | 0.500 |"
    assert line in quality.markdown(table, sets)
    assert quality.misses(table) == []
    means = quality.means_over_sets(table)
    assert "by words 1.000 (at least 0.82), FastMCP BM25 0.250" in means
    assert "FastMCP BM25 500.0 ms" in means


def test_the_estimate_is_held_against_the_count_of_every_bundle(helper: None):
    first, _, both = tokens.measure_estimate(read_sets(SETS), bundles=5)
    assert (first.name, both.name) == ("bfcl_live", "all together")
    assert first.least <= first.mean
    assert first.least_in_request < first.least


def test_a_whole_run_writes_its_tables_and_missed_goals_between_the_marks(
    helper: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "page.md"
    file.write_text(f"a\n{page.begin(run.COMMAND)}\nold\n{page.END}\nz\n")
    monkeypatch.setattr(page, "PAGE", file)
    missed: tuple[str, list[str]] = ("### Speed\n\nSlow.", ["5,000 tools: too slow"])
    monkeypatch.setattr(run, "measure_speed", lambda _: missed)
    no_tasks = run.measure_tasks([], 1, 1)
    monkeypatch.setattr(run, "measure_tasks", lambda *_: no_tasks)
    assert run.main(["--data", str(SETS), "--scorer", str(SCORER)]) == 1
    text = file.read_text()
    assert text.startswith(f"a\n{page.begin(run.COMMAND)}\nMeasured on ")
    assert text.endswith(f"\n{page.END}\nz\n")
    assert [x in text for x in ("### Quality", "### Speed", "### Tokens")] == [True] * 3
    assert "Not measured: there is no set bfcl_live" in text
    assert "- 5,000 tools: too slow" in text
