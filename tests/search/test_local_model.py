"""The model in a folder: its vectors, and the error for a folder without one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors.numpy")
pytest.importorskip("tokenizers")

from tests.support.small_model import CONFIG, weights, write_model  # noqa: E402
from xai_mcp_agent.agent.models.embeddings import embedder_of  # noqa: E402
from xai_mcp_agent.search.embeddings import NoEmbeddings  # noqa: E402
from xai_mcp_agent.search.local_model import local_embedder  # noqa: E402
from xai_mcp_agent.settings.sections import EmbeddingSettings  # noqa: E402

# For the vocabulary: lower case, a word in two pieces, and one that it lacks.
_TEXT = "The mails!"

# The same computation number by number in plain Python, with the weights of `small_model`.
_VECTOR = [-1.05112, 0.18757, 0.71467, -0.52186, -0.28524, 1.25512, 0.67433, -0.10745]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small model of random weights."""
    return write_model(tmp_path / "mini")


def test_vectors_are_those_of_the_model_and_long_texts_are_cut(folder: Path) -> None:
    """A vector does not depend on the other texts."""
    (vector,) = local_embedder(folder).embed([_TEXT])
    assert list(vector) == pytest.approx(_VECTOR, abs=2e-5)
    embed = embedder_of(EmbeddingSettings(folder=folder)).embed
    together = embed(["send " * 1_000, _TEXT, ""])
    alone = [embed([x])[0] for x in ("send " * 4, _TEXT, "")]
    assert [list(x) for x in together] == [list(x) for x in alone]


def test_names_with_the_prefix_of_the_whole_model_and_short_floats_are_read(folder: Path) -> None:
    before = local_embedder(folder).model
    short = {f"bert.{name}": x.astype("f2") for name, x in weights().items()}
    safetensors.save_file(short, folder / "model.safetensors")
    embedder = local_embedder(folder)
    (vector,) = embedder.embed([_TEXT])
    assert list(vector) == pytest.approx(_VECTOR, abs=0.02)
    assert embedder.model != before, "other weights are another model"


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def with_file(name: str, value: Any) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))

    return write


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (without("config.json"), "config.json"),
        (with_file("config.json", "{"), "JSONDecodeError"),
        (with_file("config.json", {**CONFIG, "model_type": "t5"}), "model_type 't5', not 'bert'"),
        (with_file("config.json", {**CONFIG, "num_hidden_layers": 3}), "encoder.layer.2"),
        (with_file("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}), "not the mean"),
        (with_file("model.safetensors", "nothing"), "header"),
    ],
)
def test_a_folder_without_a_model_is_named_with_the_reason(
    folder: Path, spoil: Callable[[Path], object], problem: str
) -> None:
    spoil(folder)
    with pytest.raises(NoEmbeddings, match="all-MiniLM-L6-v2") as caught:
        local_embedder(folder)
    assert problem.casefold() in str(caught.value).casefold()
    assert str(folder) in str(caught.value)


def test_without_the_extra_the_message_says_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(NoEmbeddings, match=r'pip install "xai-mcp-agent\[embeddings\]"'):
        local_embedder(folder)
