"""What the offline model says of itself and of the tools, when it cannot answer by calling them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, TypeAlias

from ....core.provider_schema import FunctionSpec
from ....planning.careful.searching import Search
from ....planning.careful.situation import Situation
from ....planning.planner import Planner
from ....planning.plans import Given
from ....planning.reading.parameters import Parameter, examples_in
from ....planning.reading.tools import WordedTool
from ....planning.reading.words import plain_name
from ....search.shortening import first_sentence
from .finding import is_for_choosing
from .planners import planner_of

Found: TypeAlias = tuple[str, Search | None]
"""What no tool serves, and the search for one, if there was any."""

_MAX_LISTED = 20
_MAX_DESCRIPTION_CHARS = 120
_MAX_EXAMPLES = 3
_MOST_TRIED = 8  # tools, for requests that are surely understood
# Three values or more in a row: "such a unit: km, mile, lb and others".
_LISTED = re.compile(r":\s*((?:[\w\u00b0/]{1,12},\s*){2,}[\w\u00b0/]{1,12})")
_USUAL = ("zone", "datetime", "date", "time", "expression", "language")
_MAX_QUOTED_CHARS = 120

WHO = "I am the offline model: fixed rules, not a language model."
CONNECT = (
    "For a real model, set the environment variable OPENAI_API_KEY, and `agent_provider` of "
    "AgentInit to `openai` and `agent_model` to the model's name; with `xai-mcp-agent ask` give "
    "`--model openai:NAME`. For one on your own machine, wire an AgentModel with its `base_url` to "
    "`model_settings`, or give `--base-url`."
)
_GREETING = re.compile(
    r"\s*(?:(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day)|yo|hallo|hola|"
    r"bonjour|ciao|hej|salut)\b[\s,.!:)]*(?:there|all|everyone|you)?[\s,.!:)]*)+",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\s*(?:(?:please )?help(?: me)?(?: please)?|(?:and )?who are you|what are you|"
    r"what (?:can|do|does) (?:you|it|this|the \w+) (?:do|know|offer)(?: for me)?|"
    r"how (?:do|does|can) (?:this|you|i)(?: (?:work|use|ask|begin|start)\b.{0,30})?|"
    r"(?:what|which|list|show)(?: me)?(?: all)?(?: (?:your|the|my|available))* "
    r"(?:tools|functions|abilities|capabilities)"
    r"(?: (?:do you have|are there|can you use|are available))?|"
    r"please begin|start|begin|test)\s*[.!?]*\s*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\s*(?:(?:many )?thanks?(?: you)?(?: (?:so|very) much| a lot)?|great|ok(?:ay)?|cool|nice|"
    r"perfect|bye|goodbye|good bye|see you)[\s,.!]*", re.IGNORECASE,
)  # fmt: skip
_GO_ON = re.compile(r"\s*(?:please )?(?:continue|go on|proceed)[\s.!]*", re.IGNORECASE)
# Values that stand for what a person would say, where the schema shows none.
_SAMPLES: dict[str, Any] = {
    "zone": "Europe/London", "url": "https://example.com", "email": "ada@example.com",
    "path": "/tmp/example.txt", "datetime": "2026-03-12T14:30", "date": "2026-03-12",
    "time": "14:30", "id": "A1", "place": "Paris", "person": "Ada", "language": "French",
    "expression": "2 + 3",
}  # fmt: skip


def small_talk(asked: str, functions: Sequence[FunctionSpec]) -> str | None:
    """The answer to a greeting, a thank-you or "what can you do"; None for anything else."""
    rest = _GREETING.sub("", asked, count=1) if _GREETING.match(asked) else asked
    if not rest.strip(" .,!?") or _ABOUT.fullmatch(rest):
        return introduction(functions)
    if _THANKS.fullmatch(rest):
        return "You are welcome."
    return "I have nothing to add." if _GO_ON.fullmatch(rest) else None


def introduction(functions: Sequence[FunctionSpec]) -> str:
    """Who this is and what the tools do, a line each."""
    if not functions:
        return f"{WHO} No tools are offered to me, so there is nothing I can do. {CONNECT}"
    own = _without_search(functions)
    lines = [_line(x) for x in own[:_MAX_LISTED]]
    if len(own) > _MAX_LISTED:
        lines.append(f"... and {len(own) - _MAX_LISTED} more.")
    listed = "\n".join(lines)
    more = "" if len(own) == len(functions) else ", and search for others that a request needs"
    return f"{WHO} I can use {_count(own)}{more}:\n{listed}\n\n{_ask_for(own)}{CONNECT}"


def nothing_fits(
    functions: Sequence[FunctionSpec], unmatched: Sequence[Found], *, has_images: bool = False
) -> str:
    """No tool fits the whole request."""
    seen = " I cannot see images." if has_images else ""
    if not functions:
        return f"{WHO}{seen} No tools are offered to me, so I cannot answer this. {CONNECT}"
    own = _without_search(functions)
    searched = "".join(f"{no_tool_for(*x)}\n" for x in unmatched if x[1])
    return (
        f"{WHO}{seen} I matched your words against {_count(own)} and found none that fits.\n"
        f"{searched}{_ask_for(own)}{CONNECT}"
    )


def nothing_found(functions: Sequence[FunctionSpec], looked_in: Sequence[str]) -> str:
    """No tool surely fits, and what could be looked into has nothing of it."""
    own = _without_search(functions)
    names = ", ".join(dict.fromkeys(looked_in))
    looked = f" I looked with {names}, and nothing there says it." if names else ""
    return (
        f"{WHO} I matched your words against {_count(own)} and found none that fits.{looked}\n"
        f"{_ask_for(own)}{CONNECT}"
    )


def ready_questions(functions: Sequence[FunctionSpec]) -> str:
    """Requests that the tools surely answer."""
    return _ask_for(_without_search(functions)).strip()


def no_tool_for(said: str, search: Search | None) -> str:
    """A part of a request that no tool fits, and what a search for one gave."""
    text = f"I found no tool for: {shown(said)}"
    if search is None:
        return text
    if search.error:
        return f"{text} The search for one failed: {search.error}"
    names = ", ".join(search.names)
    return f"{text} I searched, and {f'none of {names} fits' if names else 'nothing was found'}."


def left_out(count: int) -> str:
    """Some parts of a long request were not looked at."""
    return f"The request asks for more than I do at once: {count} further parts were left out."


def only_read(chars: int) -> str:
    """The request was longer than is read."""
    return f"I read only the first {chars} characters of the request."


def no_answer_yet() -> str:
    """Tools were withdrawn before the first result."""
    return f"{WHO} I have no result to answer from, and no tool may be used any more."


def shown(text: str) -> str:
    """A stretch of a request in quotation marks, on one line, cut when it is long."""
    folded = " ".join(text.split()).strip(" .,;")
    cut = (
        folded[:_MAX_QUOTED_CHARS].rstrip() + " ..." if len(folded) > _MAX_QUOTED_CHARS else folded
    )
    return f'"{cut}"'


def example_request(tool: WordedTool, number: int = 0) -> str:
    """A request in plain words that the rules understand as a call of this tool.

    Another `number` is another request, where the tool's parameters list several values.
    """
    stated = [f"{x.name}: {_sample(x, tool, number)}" for x in tool.parameters if x.is_wanted]
    name = plain_name(tool.name) or tool.name
    return f"{name}, {', '.join(stated)}" if stated else name


def _ask_for(functions: Sequence[FunctionSpec]) -> str:
    if not functions:
        return ""
    planner = planner_of(functions)
    tools = [planner.worded(x.name) for x in functions]
    chosen = [x for x in tools if _is_simple(x)] or tools
    ready = list(islice(_ready(planner, chosen), _MAX_EXAMPLES))
    examples = [f'"{x}"' for x in ready or map(example_request, chosen[:_MAX_EXAMPLES])]
    return f"Ask for something like: {' or '.join(examples)}.\n"


def _ready(planner: Planner, tools: Sequence[WordedTool]) -> Iterator[str]:
    """Requests that are surely understood as calls of these tools, with values that these show."""
    given = set[str]()
    situation = Situation(today=date.today())
    known = [x for x in tools if all(_is_shown(y, x) for y in x.required)]
    for number in range(_MAX_EXAMPLES):
        for tool in known[:_MOST_TRIED]:
            request = example_request(tool, number)
            if request not in given:
                given.add(request)
                calls = planner.plan(request, situation).calls
                if [(x.tool, x.looks) for x in calls] == [(tool.key, False)] and all(
                    isinstance(x, Given) for x in calls[0].arguments.values()
                ):
                    yield request


def _is_shown(parameter: Parameter, tool: WordedTool) -> bool:
    """Whether a value is known that the tool surely takes."""
    has_values = parameter.choices or parameter.fallback is not None or parameter.is_number
    is_usual = parameter.topic in _USUAL
    return bool(has_values or is_usual or _values_shown(parameter, tool))


def _values_shown(parameter: Parameter, tool: WordedTool) -> list[Any]:
    listed = _LISTED.search(parameter.description)
    values = re.split(r",\s*", listed[1]) if listed else []
    return [*examples_in(tool.schema, parameter.name), *values]


def _line(function: FunctionSpec) -> str:
    return f"- {function.name}: {first_sentence(function.description, _MAX_DESCRIPTION_CHARS)}"


def _without_search(functions: Sequence[FunctionSpec]) -> list[FunctionSpec]:
    return [x for x in functions if not is_for_choosing(x)]


def _is_simple(tool: WordedTool) -> bool:
    return not tool.changes and all(x.kind not in ("array", "object") for x in tool.required)


def _sample(parameter: Parameter, tool: WordedTool, number: int = 0) -> str:
    values = [*_values_shown(parameter, tool), *parameter.choices, parameter.fallback]
    plain = [x for x in values if isinstance(x, str | int | float) and not isinstance(x, bool)]
    if plain:
        # The two ends of a pair differ, and others of those listed may not go together.
        at = int(parameter.direction == "to") if parameter.direction else number
        value = plain[min(at, len(plain) - 1)]
        return f"'{value}'" if isinstance(value, str) and " " in value else str(value)
    if parameter.kind == "boolean":
        return "yes"
    if parameter.is_number:
        return "3"
    return str(_SAMPLES.get(parameter.topic, "'something'"))


def _count(functions: Sequence[FunctionSpec]) -> str:
    return "1 tool" if len(functions) == 1 else f"{len(functions)} tools"
