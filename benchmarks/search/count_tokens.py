"""Counts tokens as `o200k_base` does, without a network; a list of texts from stdin, to stdout."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Count. The encoding is a file in the wheel of litellm, which is not imported."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")
    texts = json.load(sys.stdin)
    json.dump([len(encoding.encode(x, disallowed_special=())) for x in texts], sys.stdout)


if __name__ == "__main__":
    main()
