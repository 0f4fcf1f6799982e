"""A small model of random weights in a folder, as sentence-transformers saves one."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SIZE, INNER, HEADS, LAYERS, TOKENS = 8, 12, 2, 2, 6
EPSILON = 1e-12
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "send", "mail", "the", "##s", "rain")
CONFIG: dict[str, Any] = {
    "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "max_position_embeddings": TOKENS, "layer_norm_eps": EPSILON,
}  # fmt: skip


def shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the names of all weights, as BERT has them, and their shapes."""
    for name, count in (("word", len(WORDS)), ("position", TOKENS), ("token_type", 2)):
        yield f"embeddings.{name}_embeddings.weight", (count, SIZE)
    norms, dense = ["embeddings"], dict[str, tuple[int, int]]()
    for layer in (f"encoder.layer.{n}" for n in range(LAYERS)):
        dense |= {f"{layer}.attention.self.{x}": (SIZE, SIZE) for x in ("query", "key", "value")}
        dense[f"{layer}.attention.output.dense"] = (SIZE, SIZE)
        dense[f"{layer}.intermediate.dense"] = (INNER, SIZE)
        dense[f"{layer}.output.dense"] = (SIZE, INNER)
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    for name, shape in dense.items():
        yield f"{name}.weight", shape
        yield f"{name}.bias", shape[:1]
    for name in norms:
        yield f"{name}.LayerNorm.weight", (SIZE,)
        yield f"{name}.LayerNorm.bias", (SIZE,)


def weights(seed: int = 3) -> dict[str, Any]:
    """Return arrays of random numbers, by their names."""
    import numpy

    generator = random.Random(seed)
    return {
        name: numpy.array(
            [generator.uniform(-1, 1) for _ in range(math.prod(shape))], "f4"
        ).reshape(shape)
        for name, shape in shapes()
    }


def write_model(folder: Path) -> Path:
    """Save the model in a new folder."""
    library = import_module("safetensors.numpy")
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    library.save_file(weights(), folder / "model.safetensors")
    return folder
