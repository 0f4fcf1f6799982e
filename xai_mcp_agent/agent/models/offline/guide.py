"""What the offline model says of itself and of the tools, when it cannot answer by calling them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from ....core.provider_schema import FunctionSpec
from ....planning.careful.searching import Search
from ....search.shortening import first_sentence
from .examples import ask_for
from .finding import is_for_choosing

Found: TypeAlias = tuple[str, Search | None]
"""What no tool serves, and the search for one, if there was any."""

_MAX_LISTED = 20
_MAX_DESCRIPTION_CHARS = 120
_MAX_QUOTED_CHARS = 120

WHO = "I am the offline model: fixed rules, not a language model."
CONNECT = (
    "For a real model, set the environment variable OPENAI_API_KEY, and `agent_provider` of "
    "AgentInit to `openai` and `agent_model` to the model's name; with `xai-mcp-agent ask` give "
    "`--model openai:NAME`. For one on your own machine, wire an AgentModel with its `base_url` to "
    "`model_settings`, or give `--base-url`."
)
_NO_TOOLS = "I have no tools."
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
        return f"{WHO} {_NO_TOOLS}"
    own = _without_search(functions)
    lines = [_line(x) for x in own[:_MAX_LISTED]]
    if len(own) > _MAX_LISTED:
        lines.append(f"... and {len(own) - _MAX_LISTED} more.")
    listed = "\n".join(lines)
    more = "" if len(own) == len(functions) else ", and search for others that a request needs"
    return f"{WHO} I can use {_count(own)}{more}:\n{listed}\n\n{ask_for(own)}{CONNECT}"


def nothing_fits(
    functions: Sequence[FunctionSpec], unmatched: Sequence[Found], *, has_images: bool = False
) -> str:
    """No tool fits the whole request."""
    seen = " I cannot see images." if has_images else ""
    if not functions:
        return f"{WHO}{seen} {_NO_TOOLS}"
    own = _without_search(functions)
    searched = "".join(f"{no_tool_for(*x)}\n" for x in unmatched if x[1])
    return (
        f"{WHO}{seen} I matched your words against {_count(own)} and found none that fits.\n"
        f"{searched}{ask_for(own)}{CONNECT}"
    )


def nothing_found(functions: Sequence[FunctionSpec], looked_in: Sequence[str]) -> str:
    """No tool surely fits, and what could be looked into has nothing of it."""
    own = _without_search(functions)
    names = ", ".join(dict.fromkeys(looked_in))
    looked = f" I looked with {names}, and nothing there says it." if names else ""
    return (
        f"{WHO} I matched your words against {_count(own)} and found none that fits.{looked}\n"
        f"{ask_for(own)}{CONNECT}"
    )


def ready_questions(functions: Sequence[FunctionSpec]) -> str:
    """Requests that the tools surely answer."""
    return ask_for(_without_search(functions)).strip()


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


def _line(function: FunctionSpec) -> str:
    return f"- {function.name}: {first_sentence(function.description, _MAX_DESCRIPTION_CHARS)}"


def _without_search(functions: Sequence[FunctionSpec]) -> list[FunctionSpec]:
    return [x for x in functions if not is_for_choosing(x)]


def _count(functions: Sequence[FunctionSpec]) -> str:
    return "1 tool" if len(functions) == 1 else f"{len(functions)} tools"
