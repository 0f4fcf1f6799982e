"""Search by meaning, with models that are slow, fail, or answer nonsense."""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.search.test_tools import tool
from tests.support.embeddings_endpoint import EmbeddingsEndpoint, embeddings_endpoint, meanings
from tests.support.processes import wait_until
from xai_mcp_agent import Secret, Tool
from xai_mcp_agent.agent.models.embeddings import embedder_of
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.search import embeddings
from xai_mcp_agent.search.embeddings import DenseIndex, Embedder
from xai_mcp_agent.search.tools import Hit, ToolIndex
from xai_mcp_agent.search.vectors import StoredVectors
from xai_mcp_agent.settings.sections import EmbeddingSettings

_SECONDS = 20.0
FORECAST, LETTER = tool("forecast", "Tells of rain."), tool("letter", "Sends post with a stamp.")
INVOICE, OTHER = tool("invoice", "Makes a bill."), tool("resize", "Scales a picture.")
TOOLS = (FORECAST, LETTER, INVOICE, OTHER)


class Model:
    """The model of `meanings`; records its batches, and calls `instead` while that is set."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.instead: Callable[[list[str]], Any] | None = None

    def __call__(self, texts: list[str]) -> Any:
        self.batches.append(texts)
        return self.instead(texts) if self.instead else meanings(texts)

    @property
    def texts(self) -> list[str]:
        return [x for texts in self.batches for x in texts]


@pytest.fixture
def embed() -> Model:
    return Model()


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING)
    return lambda: [x.getMessage() for x in caplog.records]


def names(hits: Sequence[Hit[Tool]]) -> list[str]:
    return [x.tool.name for x in hits]


def test_words_and_meaning_count_together_and_either_is_enough(embed: Model) -> None:
    (hit,) = ToolIndex(TOOLS, embed).search("an umbrella?")
    assert (hit.tool, hit.score, hit.reasons) == (FORECAST, 1, ("meaning is near (1.00)",))
    assert ToolIndex(TOOLS).search("an umbrella?") == []
    hits = ToolIndex(TOOLS, embed).search("post the invoice")
    assert names(hits) == ["invoice", "letter"]
    assert hits[0].reasons == ("name matches 'invoice'", "meaning is near (0.71)")


def test_each_different_text_is_embedded_once_in_batches(embed: Model) -> None:
    index = ToolIndex([tool(f"t{n}", str(n)) for n in range(40)] * 2, embed)
    index.update(tool("t0", "0", server="another"))
    assert embed.batches == []
    index.search("rain")
    assert [len(x) for x in embed.batches] == [16, 16, 8, 1]
    index.search("rain")
    index.update(tool("t1", "1", parameters={"place": {}}))
    index.update(tool("t2", "\u4e00" * 5_000 + "\ud800"))
    index.search("rain")
    assert len(embed.texts) == len(set(embed.texts)) == 42
    assert embed.texts[-1].startswith("t2. \u4e00")
    assert len(embed.texts[-1].encode()) <= 2_000


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda texts: [[1.0, math.nan, 0.0]] * len(texts), "not finite"),
        (lambda texts: [[1.0, 2.0, 3.0]] * (len(texts) + 1), "5 vectors for 4 texts"),
        (lambda texts: [[1.0] * (n + 1) for n in range(len(texts))], "not a vector for each"),
        (lambda texts: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_after_a_failure_words_alone_count_and_one_warning_is_logged(
    embed: Model, warnings: Callable[[], list[str]], answer: Any, problem: str
) -> None:
    embed.instead = answer
    index = ToolIndex(TOOLS, embed)
    for _ in range(3):
        assert names(index.search("forecast")) == ["forecast"]
    assert len(embed.batches) == 1
    (warning,) = warnings()
    assert problem in warning
    assert "the function passed as `embed`" in warning


def test_a_model_that_failed_gets_one_text_at_a_time_after_a_pause(
    embed: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One text that it refuses does not keep the others out."""

    def refuse(texts: list[str]) -> Any:
        if any("poison" in x for x in texts):
            raise ValueError("refused")
        return meanings(texts)

    tools = [tool(f"t{n}", "poison" if n == 4 else f"rain {n}") for n in range(9)]
    embed.instead = refuse
    index = ToolIndex(tools, embed)
    assert index.search("umbrella") == index.search("umbrella") == []
    assert len(embed.batches) == 1
    monkeypatch.setattr(embeddings, "PAUSE_SECONDS", 0.0)
    index = ToolIndex(tools, embed)
    assert max(len(index.search("umbrella")) for _ in range(30)) == 8


# An endpoint, and the store


@pytest.fixture
def endpoint() -> Iterator[EmbeddingsEndpoint]:
    with embeddings_endpoint() as endpoint:
        yield endpoint


def settings_for(endpoint: EmbeddingsEndpoint) -> EmbeddingSettings:
    return EmbeddingSettings("m", endpoint.base_url, Secret("sk-a-secret-key"))


def test_if_an_endpoint_fails_words_alone_count_and_the_log_names_the_endpoint(
    endpoint: EmbeddingsEndpoint, warnings: Callable[[], list[str]]
) -> None:
    endpoint.status, error = 401, {"message": "Incorrect API key sk-a-secret-key."}
    endpoint.answer = {"error": error}
    dense = DenseIndex[Any](embedder_of(settings_for(endpoint)))
    index = ToolIndex(TOOLS, dense)
    for _ in range(3):
        assert not dense.fill()
        assert names(index.search("forecast")) == ["forecast"]
    (warning,) = warnings()
    assert f"'m' at {endpoint.base_url}" in warning
    assert "sk-a-secret-key" not in warning
    assert len(warning) < 1_000


def fill_index(
    embed: Callable[[list[str]], Any], place: Place, tools: Sequence[Tool] = TOOLS, model: str = "m"
) -> ToolIndex[Tool]:
    """An index whose vectors come from the store, or are made and stored."""
    recorder = HistoryRecorder(place, str, warn=lambda _: None)
    store = StoredVectors(recorder, model)
    dense = DenseIndex[Any](Embedder(embed, model, "a test"))
    index = ToolIndex(tools, dense)
    dense.recall(store)
    while dense.fill(store):
        pass
    recorder.close(_SECONDS)
    return index


def test_after_a_restart_only_changed_tools_are_embedded(
    embed: Model, lasting_place: Place
) -> None:
    changed = (*TOOLS[1:], tool("forecast", "Whether an umbrella is needed."))
    texts: list[list[str]] = []
    for tools in (TOOLS, TOOLS, changed, changed):
        embed.batches.clear()
        index = fill_index(embed, lasting_place, tools)
        texts.append(embed.texts)
        assert names(index.search("rain")) == ["forecast"]
    assert [len(x) for x in texts] == [4, 0, 1, 0]
    assert texts[2] == ["forecast. Whether an umbrella is needed."]
    embed.batches.clear()
    fill_index(embed, lasting_place, model="another model")
    assert len(embed.texts) == 4


def test_a_query_waits_no_longer_than_its_limit_and_a_late_answer_counts_afterwards(
    embed: Model, monkeypatch: pytest.MonkeyPatch, warnings: Callable[[], list[str]]
) -> None:
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", 0.05)
    index = ToolIndex(TOOLS, embed)
    index.search("rain")
    go_on = threading.Event()

    def late(texts: list[str]) -> Any:
        assert go_on.wait(_SECONDS)
        return meanings(texts)

    embed.instead = late
    try:
        assert index.search("an umbrella") == []
        assert index.search("an umbrella") == []  # this one did not ask
        assert len(embed.batches) == 3
        assert "no answer within" in warnings()[0]
    finally:
        go_on.set()
    wait_until(lambda: bool(index.search("an umbrella")), "the answer is there")
    assert len(embed.batches) == 3


def test_the_log_contains_no_words_of_a_person(
    embed: Model, warnings: Callable[[], list[str]]
) -> None:
    """Services repeat a text that they refuse, and others read the log."""
    index = ToolIndex(TOOLS, embed)
    index.search("rain")

    def refuse(texts: list[str]) -> Any:
        raise ValueError(f"cannot do {texts[0]!r} nor {json.dumps(texts)}")

    embed.instead = refuse
    index.search('tell "Ada" that I am ill')
    (warning,) = warnings()
    assert "cannot do" in warning
    assert "Ada" not in warning
