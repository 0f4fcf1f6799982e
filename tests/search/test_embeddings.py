"""Finding tools by what they mean, with functions that are slow, fail, or answer nonsense."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.test_tools import tool
from tests.support.databases import place_of
from tests.support.embeddings_endpoint import (
    EmbeddingsEndpoint,
    embeddings_endpoint,
    meaning,
    meanings,
)
from xai_mcp_agent import Secret, Tool
from xai_mcp_agent.agent.models.embeddings import embedder_of
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.search import embeddings, vectors
from xai_mcp_agent.search.embeddings import DenseIndex, Embedder
from xai_mcp_agent.search.stored_vectors import StoredVectors
from xai_mcp_agent.search.tools import Hit, ToolIndex
from xai_mcp_agent.search.vectors import BadVector, VectorIndex, unit
from xai_mcp_agent.settings.sections import EmbeddingSettings

_SECONDS = 20.0
_SLOW_SECONDS = 0.05
FORECAST, LETTER = tool("forecast", "Tells of rain."), tool("letter", "Sends post with a stamp.")
INVOICE, OTHER = tool("invoice", "Makes a bill."), tool("resize", "Scales a picture.")
TOOLS = (FORECAST, LETTER, INVOICE, OTHER)


class Counted:
    """The model, which counts what it is asked. It does `instead` while that is set."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.instead: Callable[[list[str]], Any] | None = None

    def __call__(self, texts: list[str]) -> Any:
        self.asked.append(texts)
        return self.instead(texts) if self.instead else meanings(texts)

    @property
    def texts(self) -> list[str]:
        return [x for texts in self.asked for x in texts]


@pytest.fixture
def embed() -> Counted:
    return Counted()


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How many seconds have passed besides those that really did; the last one counts."""
    passed, now = [0.0], time.monotonic
    monkeypatch.setattr(embeddings.time, "monotonic", lambda: now() + passed[-1])
    return passed


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING)
    return lambda: [x.getMessage() for x in caplog.records]


def names(hits: Sequence[Hit[Tool]]) -> list[str]:
    return [x.tool.name for x in hits]


# What is found


def test_a_tool_is_found_by_its_meaning_where_no_word_fits(embed: Counted) -> None:
    (hit,) = ToolIndex(TOOLS, embed).search("an umbrella?")
    assert (hit.tool, hit.score, hit.reasons) == (FORECAST, 1, ("meaning is near (1.00)",))
    assert ToolIndex(TOOLS).search("an umbrella?") == []


def test_words_and_meaning_count_together(embed: Counted) -> None:
    hits = ToolIndex(TOOLS, embed).search("post the invoice")
    assert names(hits) == ["invoice", "letter"]
    assert hits[0].reasons == ("name matches 'invoice'", "meaning is near (0.71)")


def test_what_is_far_is_not_found(embed: Counted) -> None:
    far = tool("far", "mail mail mail mail mail rain")
    assert ToolIndex([far], embed).search("umbrella") == []
    assert names(ToolIndex([FORECAST, far], embed).search("umbrella")) == ["forecast"]


def test_a_part_of_a_request_finds_what_is_far_from_the_whole(embed: Counted) -> None:
    whole = "mail letter letter letter letter letter"
    index = ToolIndex([FORECAST, OTHER], embed)
    assert index.search(f"{whole} and umbrella") == []
    assert names(index.search(f"{whole}. Then umbrella")) == ["forecast"]


def test_only_those_among_are_found(embed: Counted) -> None:
    many = [tool(f"forecast{n}", "weather rain") for n in range(100)]
    among = [many[77].key, LETTER.key]
    for index in (ToolIndex([*many, LETTER], embed), ToolIndex([*many, LETTER])):
        assert names(index.search("weather forecast", among=among)) == ["forecast77"]
        assert index.search("weather", among=[]) == []
    assert names(ToolIndex(many, embed).search("umbrella", among=among)) == ["forecast77"]


def test_the_same_tools_are_found_in_the_same_order_however_they_came(embed: Counted) -> None:
    many = [tool(f"t{n:02}", "rain") for n in range(60)]
    forth = ToolIndex(many, embed).search("umbrella", 40)
    back = ToolIndex(reversed(many), embed).search("umbrella", 40)
    assert names(forth) == names(back) == sorted(names(forth))


def test_numpy_changes_no_score_and_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")

    def embed(texts: list[str]) -> list[list[float]]:
        return [[math.sin(hash_ * n) for n in range(1, 9)] for hash_ in map(len, texts)]

    many = [tool(f"t{n}", "x" * n) for n in range(200)]
    with_numpy = ToolIndex(many, embed).search("t5 and others", 30)
    monkeypatch.setattr(vectors, "numpy_if_there", lambda: None)
    without = ToolIndex(many, embed).search("t5 and others", 30)
    assert [(x.tool, x.score) for x in with_numpy] == [(x.tool, x.score) for x in without]


# What is asked of the model


def test_it_is_asked_in_batches_for_each_different_text_once(embed: Counted) -> None:
    index = ToolIndex([tool(f"t{n}", str(n)) for n in range(40)] * 2, embed)
    index.update(tool("t0", "0", server="another"))
    assert embed.asked == []
    index.search("rain")
    assert [len(x) for x in embed.asked] == [16, 16, 8, 1]
    index.search("rain")
    assert len(embed.texts) == len(set(embed.texts)) == 41


def test_only_a_tool_whose_text_has_changed_is_embedded_anew(embed: Counted) -> None:
    index = ToolIndex(TOOLS, embed)
    index.search("rain")
    before = len(embed.texts)
    index.update(tool("forecast", FORECAST.description, parameters={"place": {}}))
    index.update(tool("invoice", "Sends a letter."))
    assert names(index.search("rain")) == ["forecast"]
    assert embed.texts[before:] == ["invoice. Sends a letter."]
    index.remove(FORECAST.key)
    assert index.search("umbrella") == []


def test_long_texts_are_cut_and_names_are_words(embed: Counted) -> None:
    long = tool("getURLOf_page", "\u4e00" * 5_000 + "\ud800")
    ToolIndex([long], embed).search("x" * 5_000)
    assert embed.texts[0].startswith("get URL Of page. \u4e00")
    assert max(len(x.encode()) for x in embed.texts) <= 2_000


# What may go wrong


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda texts: [[1.0, math.nan, 0.0]] * len(texts), "not finite"),
        (lambda texts: [[1.0, math.inf, 0.0]] * len(texts), "not finite"),
        (lambda texts: [[1.0, 2.0, 3.0]] * (len(texts) + 1), "vectors for"),
        (lambda texts: [], "0 vectors for"),
        (lambda texts: [[1.0] * (n + 1) for n in range(len(texts))], "different lengths"),
        (lambda texts: [[]] * len(texts), "empty"),
        (lambda texts: [["a"]] * len(texts), "no number"),
        (lambda texts: None, "not iterable"),
        (lambda texts: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_nonsense_counts_for_nothing_and_is_told_once(
    embed: Counted,
    warnings: Callable[[], list[str]],
    answer: Callable[[list[str]], Any],
    told: str,
) -> None:
    embed.instead = answer
    index = ToolIndex(TOOLS, embed)
    for _ in range(3):
        assert names(index.search("forecast")) == ["forecast"]
    assert len(embed.asked) == 1
    (warning,) = warnings()
    assert told in warning
    assert "the function given as `embed`" in warning


def test_what_failed_is_tried_again_after_a_while(embed: Counted, seconds: list[float]) -> None:
    index = ToolIndex(TOOLS, embed)
    embed.instead = lambda texts: 1 / 0
    assert index.search("umbrella") == []
    embed.instead = None
    assert index.search("umbrella") == []
    seconds.append(61.0)
    assert names(index.search("umbrella")) == ["forecast"]


def test_a_query_of_another_size_is_searched_by_its_words(
    embed: Counted, warnings: Callable[[], list[str]]
) -> None:
    index = ToolIndex(TOOLS, embed)
    index.search("rain")
    embed.instead = lambda texts: [[1.0, 0.0]] * len(texts)
    assert names(index.search("forecast")) == ["forecast"]
    assert "different lengths, 2 and 3" in warnings()[0]


def test_one_text_that_cannot_be_done_does_not_keep_the_others_away(
    embed: Counted, seconds: list[float]
) -> None:
    def refuse(texts: list[str]) -> Any:
        if any("poison" in x for x in texts):
            raise ValueError("refused")
        return meanings(texts)

    embed.instead = refuse
    many = [tool(f"t{n:02}", "poison" if n == 7 else f"rain {n}") for n in range(64)]
    dense = DenseIndex[Any](Embedder(embed, "m", "a test"))
    ToolIndex(many, dense)
    for passed in range(10):
        seconds.append(passed * 700.0)
        while dense.fill():
            pass
    assert dense.made == 63


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """Something that functions wait for."""
    event = threading.Event()
    yield event
    event.set()


def test_a_query_waits_no_longer_than_its_limit_and_a_late_answer_is_of_use(
    embed: Counted,
    never: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    warnings: Callable[[], list[str]],
    seconds: list[float],
) -> None:
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", _SLOW_SECONDS)
    index = ToolIndex(TOOLS, embed)
    index.search("rain")
    answered = threading.Event()

    def late(texts: list[str]) -> Any:
        never.wait(_SECONDS)
        answered.set()
        return meanings(texts)

    embed.instead = late
    began = time.monotonic()
    assert index.search("an umbrella") == []
    assert index.search("an umbrella") == []  # and this one did not ask
    assert time.monotonic() - began < _SECONDS / 4
    assert len(embed.asked) == 3
    assert "no answer within" in warnings()[0]
    never.set()
    assert answered.wait(_SECONDS)
    embed.instead = None
    seconds.append(2.0)
    assert names(index.search("an umbrella")) == ["forecast"]


def test_a_search_does_not_wait_for_a_function_that_hangs(
    embed: Counted, never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xai_mcp_agent.search.tools._FILL_SECONDS", _SLOW_SECONDS)
    embed.instead = lambda texts: never.wait(_SECONDS)
    index = ToolIndex(TOOLS, embed)
    assert names(index.search("forecast")) == ["forecast"]
    assert len(embed.asked) == 1


def test_a_function_that_always_hangs_is_not_asked_in_more_and_more_threads(
    embed: Counted,
    never: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    seconds: list[float],
) -> None:
    monkeypatch.setattr("xai_mcp_agent.search.tools._FILL_SECONDS", _SLOW_SECONDS / 4)
    embed.instead = lambda texts: never.wait(_SECONDS)
    index = ToolIndex(TOOLS, embed)
    for _ in range(6):
        assert names(index.search("forecast")) == ["forecast"]
        seconds.append(seconds[-1] + 10_000)
    assert len(embed.asked) == 3


def test_what_a_person_said_is_in_no_message(
    embed: Counted, warnings: Callable[[], list[str]]
) -> None:
    """Services repeat what they cannot do; and the log is read by others."""
    index = ToolIndex(TOOLS, embed)
    index.search("rain")

    def refuse(texts: list[str]) -> Any:
        raise ValueError(f"cannot do {texts[0]!r} nor {json.dumps(texts)}")

    embed.instead = refuse
    index.search('tell "Ada" that I am ill')
    (warning,) = warnings()
    assert "cannot do" in warning
    assert "Ada" not in warning


# Filled in another thread


class Cache(dict[str, Sequence[float]]):
    """Vectors in memory, as a store keeps them."""

    def read(self, hashes: Sequence[str]) -> Mapping[str, Sequence[float]]:
        return {x: self[x] for x in hashes if x in self}

    def write(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.update(vectors)


def filled(embed: Counted, cache: Cache, tools: Sequence[Tool] = TOOLS) -> ToolIndex[Tool]:
    dense = DenseIndex[Any](Embedder(embed, "m", "a test"))
    index = ToolIndex(tools, dense)
    dense.recall(cache)
    while dense.fill(cache):
        pass
    return index


def test_searches_go_on_by_words_while_somebody_else_fills_the_index(
    embed: Counted, never: threading.Event
) -> None:
    def when_allowed(texts: list[str]) -> Any:
        assert never.wait(_SECONDS)
        return meanings(texts)

    embed.instead = when_allowed
    dense = DenseIndex[Any](Embedder(embed, "m", "a test"))
    index = ToolIndex(TOOLS, dense)
    thread = threading.Thread(target=dense.fill)
    thread.start()
    assert names(index.search("forecast")) == ["forecast"]
    assert index.search("umbrella") == []
    never.set()
    thread.join(_SECONDS)
    assert names(index.search("umbrella")) == ["forecast"]


def test_what_a_cache_has_is_not_made_again(embed: Counted) -> None:
    cache = Cache()
    filled(embed, cache)
    embed.asked.clear()
    index = filled(embed, cache, (*TOOLS[1:], tool("forecast", "Tells of umbrellas and rain.")))
    assert embed.texts == ["forecast. Tells of umbrellas and rain."]
    assert names(index.search("weather")) == ["forecast"]


def test_remembered_vectors_of_another_model_of_that_name_are_made_anew(embed: Counted) -> None:
    cache = Cache()
    embed.instead = lambda texts: [[1.0, 0.0]] * len(texts)
    filled(embed, cache)
    embed.instead = None
    dense = DenseIndex[Any](Embedder(embed, "m", "a test"))
    index = ToolIndex(TOOLS, dense)
    dense.recall(cache)
    index.search("umbrella")  # now it is known how long the vectors are
    while dense.fill(cache):
        pass
    assert names(index.search("umbrella")) == ["forecast"]
    assert {len(x) for x in cache.values()} == {3}


def test_what_is_no_vector_in_a_cache_is_made_anew(embed: Counted) -> None:
    cache = Cache()
    filled(embed, cache)
    for broken in ([], [math.nan] * 3, "abc"):
        cache.update(dict.fromkeys(cache, broken))
        assert names(filled(embed, cache).search("umbrella")) == ["forecast"]


# An endpoint


@pytest.fixture
def endpoint() -> Iterator[EmbeddingsEndpoint]:
    with embeddings_endpoint() as endpoint:
        yield endpoint


def settings_for(endpoint: EmbeddingsEndpoint, model: str = "m") -> EmbeddingSettings:
    return EmbeddingSettings(model, endpoint.base_url, Secret("sk-a-secret-key"))


def test_an_endpoint_makes_the_vectors(endpoint: EmbeddingsEndpoint) -> None:
    dense = DenseIndex[Any](embedder_of(settings_for(endpoint)))
    index = ToolIndex(TOOLS, dense)
    assert dense.fill()
    assert names(index.search("umbrella")) == ["forecast"]
    assert set(endpoint.keys) == {"Bearer sk-a-secret-key"}


def test_models_of_one_name_at_two_addresses_are_two(endpoint: EmbeddingsEndpoint) -> None:
    with embeddings_endpoint() as other:
        models = [embedder_of(settings_for(x)).model for x in (endpoint, endpoint, other)]
    assert models[0] == models[1] != models[2]
    assert "127.0.0.1" not in models[0]


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (401, {"error": {"message": "Incorrect API key sk-a-secret-key."}}),
        (400, {"error": {"message": "The input is too long."}}),
        (200, {"object": "list", "data": []}),
        (200, {"object": "list", "data": [{"embedding": [1.0], "index": 0}]}),
        (200, {"data": [{"index": 0}, {"embedding": None}]}),
        (200, {"hello": "world"}),
        (200, "hello"),
        (200, [3]),
        (400, {"error": {"message": "It cannot do this: " + "forecast. rain " * 99_999}}),
        (200, {"data": [{"index": 7, "embedding": [1.0]}] * 3}),
        (200, {"data": [{"index": 0, "embedding": "abc"}] * 3}),
        (200, {"data": [{"index": n, "embedding": [0.5] * 999_999} for n in range(3)]}),
    ],
)
def test_an_endpoint_that_fails_leaves_the_words_and_says_what_to_do(
    endpoint: EmbeddingsEndpoint, warnings: Callable[[], list[str]], status: int, answer: Any
) -> None:
    endpoint.status, endpoint.answer = status, answer
    dense = DenseIndex[Any](embedder_of(settings_for(endpoint)))
    index = ToolIndex(TOOLS, dense)
    for _ in range(3):
        assert not dense.fill()
        assert names(index.search("forecast")) == ["forecast"]
    (warning,) = warnings()
    assert f"'m' at {endpoint.base_url}" in warning
    assert "sk-a-secret-key" not in warning
    assert len(warning) < 1_000
    assert dense.wait_seconds > 50


def test_a_restart_embeds_nothing_and_a_changed_tool_alone(
    endpoint: EmbeddingsEndpoint, tmp_path: Path
) -> None:
    changed = (*TOOLS[1:], tool("forecast", "Whether an umbrella is needed."))
    texts: list[list[str]] = []
    for tools in (TOOLS, TOOLS, changed, changed):
        embedder = embedder_of(settings_for(endpoint))
        recorder = HistoryRecorder(place_of("", tmp_path), str)
        dense = DenseIndex[Any](embedder)
        index = ToolIndex(tools, dense)
        cache = StoredVectors(recorder, embedder.model)
        dense.recall(cache)
        while dense.fill(cache):
            pass
        texts.append(endpoint.texts)
        endpoint.asked.clear()
        assert names(index.search("rain")) == ["forecast"]
        assert endpoint.texts == ["rain"]
        endpoint.asked.clear()
        recorder.close(_SECONDS)
    assert [len(x) for x in texts] == [4, 0, 1, 0]
    assert texts[2] == ["forecast. Whether an umbrella is needed."]


# Vectors


@given(st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=5))
def test_unit_vectors_have_the_length_one(numbers: list[float]) -> None:
    try:
        length = math.hypot(*unit(numbers))
    except BadVector:
        return
    assert length == pytest.approx(1.0, abs=1e-5) or all(abs(x) < 1e-300 for x in numbers)


words = st.sampled_from(["rain", "post", "bill", "rain post", "rain bill bill", "nothing"])
steps = st.lists(st.tuples(st.integers(0, 5), st.none() | words), max_size=30)


@given(steps, words, st.booleans())
def test_an_index_of_vectors_that_was_changed_is_as_one_made_of_what_is_left(
    changes: list[tuple[int, str | None]], query: str, in_between: bool
) -> None:
    index, left = VectorIndex[int](), dict[int, str]()
    for key, text in changes:
        if text is None:
            index.remove(key)
            left.pop(key, None)
        else:
            index.put(key, text)
            left[key] = text
        if in_between:
            index.add({x: unit(meaning(y)) for x, y in index.missing(99).items()})
    index.add({x: unit(meaning(y)) for x, y in index.missing(99).items()})
    wanted, exact = unit(meaning(query)), dict[int, float]()
    for key, text in left.items():
        cosine = round(sum(map(lambda x, y: x * y, wanted, unit(meaning(text)))), 6)
        exact |= {key: cosine} if cosine >= 0.25 else {}
    assert index.nearest(wanted, 99, 0.25) == pytest.approx(exact, abs=2e-6)
    assert not index.missing(1)
