"""The steps of a careful plan as its calls: what is said is given, what is referred to a result."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..plan import FromResult, Given, Missing, Plan, PlannedCall, Source, Unmatched, lacking
from ..reading.arguments import Earlier
from .chooser import Step, Steps
from .looking import sought
from .searching import query_of

_SURE = "only what the words surely ask for, by fixed rules, without a language model"


def plan_of(request: str, chosen: Steps) -> Plan:
    """The plan that these steps are."""
    calls: list[PlannedCall] = []
    for step in chosen.steps:
        # Looks wait for what is sure, not for each other.
        ahead = sum(not x.looks for x in calls) if step.looks else len(calls)
        calls += list(_calls_of(step, ahead))
    return Plan(
        request,
        tuple(calls),
        tuple(lacking(calls)),
        (_SURE,),
        is_rough=True,
        unmatched=tuple(Unmatched(x.text, query_of(x)) for x in chosen.unmatched),
        left_out=chosen.left_out,
    )


def _calls_of(step: Step, ahead: int) -> Iterator[PlannedCall]:
    """A call for each of several values of one parameter; `ahead` calls come before them."""
    waits = step.waits or step.filled.needs_earlier or bool(step.filled.missing)
    for arguments in step.filled.calls:
        yield PlannedCall(
            step.tool.key,
            step.tool.name,
            _sources(step, arguments, ahead - 1),
            (f"asked for: {step.part.text}",),
            1 - step.doubt,
            step.part.text,
            ahead if waits else 0,
            step.looks,
            sought(step.part) if step.looks else (),
        )


def _sources(step: Step, arguments: Mapping[str, Any], last: int) -> dict[str, Source]:
    """`last` is the call before this one; before the first one, what came before the plan."""
    refers = any(x.kind == "reference" for x in step.part.mentions)
    found: dict[str, Source] = {}
    for name, value in arguments.items():
        found[name] = (
            FromResult(last, said=value.words or "it", otherwise=value.literal)
            if isinstance(value, Earlier)
            else Given(value)
        )
    for parameter in step.filled.missing:
        if step.looked_up:
            found[parameter.name] = FromResult(last, named=step.looked_up)
        elif refers:
            found[parameter.name] = FromResult(last, said="it")
        else:
            found[parameter.name] = Missing(f"nothing says {parameter.name!r}")
    return found
