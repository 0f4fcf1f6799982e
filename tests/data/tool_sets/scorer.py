"""Scores the share of queries whose first result is right, or of right tools in plans."""

import json
import sys
from pathlib import Path

labels, predictions = (
    [json.loads(x) for x in Path(y).read_text().splitlines()] for y in sys.argv[1:3]
)
if sys.argv[1].endswith("queries.jsonl"):
    hits = [x["ranked"][:1] == y["relevant"] for x, y in zip(predictions, labels, strict=True)]
    print(json.dumps(dict.fromkeys(("ndcg@10", "recall@5", "recall@10"), sum(hits) / len(hits))))
else:
    plans = [{x["tool"] for x in plan["calls"]} for plan in labels]
    chosen = {plan["plan_index"]: {x["tool"] for x in plan["calls"]} for plan in predictions}
    shares = [len(plan & chosen[n]) / len(plan) for n, plan in enumerate(plans)]
    names = ("node_f1", "edge_f1", "ned", "exact", "bind_f1", "field_acc")
    print(json.dumps({"all": dict.fromkeys(names, sum(shares) / len(shares))}))
