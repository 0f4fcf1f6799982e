"""Makes vectors in a process of its own: lists of texts from stdin, a line each, to stdout."""

from __future__ import annotations

import base64
import json
import sys
from array import array
from pathlib import Path

from xai_mcp_agent.search.local_model import local_embedder


def main(folder: str) -> None:
    """Go on until stdin ends."""
    embedder = local_embedder(Path(folder))
    for line in sys.stdin:
        vectors = embedder.embed(json.loads(line))
        told = [base64.b64encode(array("f", map(float, x)).tobytes()).decode() for x in vectors]
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
