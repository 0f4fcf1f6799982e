"""Sanitizes servers' answers before the SDK reads them: one odd part costs only itself.

Odd tools are set aside with a reason, unknown content becomes an empty text that carries the
original, and what an answer forgot to say is added.

Output schemas stay with us: the SDK would check results on the event loop with
a library whose import alone can hold up every server for seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

from ....core.tools import JsonObject
from .inspection import look_through
from .watch import Watch

RAW = "xai-mcp-agent/raw"
"""Key in `_meta` under which a tool, a content block or a structured result travels as it came."""


class Kept(str):
    """Any value, which looks like an empty text to the SDK.

    The SDK copies all that it reads several times over, on the event loop; this it leaves alone.
    """

    value: Any
    size: int

    @classmethod
    def of(cls, value: Any, size: int = 0) -> Kept:
        """The value, to be taken out again by `kept_in`; `size` in bytes, where that counts."""
        kept = cls()
        kept.value, kept.size = value, size
        return kept


def kept_in(meta: JsonObject | None, otherwise: Any = None) -> Any:
    """The value that travelled in this `_meta`."""
    kept = (meta or {}).get(RAW)
    return kept.value if isinstance(kept, Kept) else otherwise


_Mender: TypeAlias = Callable[[JsonObject, Watch], None]

# What a block of each kind must have, all of it text.
_TEXTS_OF = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
_OPTIONAL_TEXTS = ("description", "mimeType")
_LISTED_TEXTS = ("name", "title", "uri", "uriTemplate", "description", "mimeType")
# What icons and arguments of prompts may have.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("src", "mimeType", "name", "title", "description"), str),
    "required": bool,
    "sizes": list,
}
MAX_LISTING_BYTES = 64 * 1024 * 1024
"""A listing above this, all its pages together, is cut: it is broken or hostile."""
_RESULT_TYPES = ("complete", "input_required")
_SHOWN_TYPE = 100
_RESOURCE_TEXTS = ("uri", "text", "blob", "mimeType")

# For a server that does not say which one it speaks; every later one is an addition to it.
_USUAL_VERSION = "2024-11-05"
_LISTS = ("tools", "resources", "prompts")
_INFO_TEXTS = ("name", "title", "version", "description", "websiteUrl")

# What 2026-07-28 demands of every answer, and of a list; one without them is good all the same.
_OF_AN_ANSWER: JsonObject = {"resultType": "complete"}
_OF_A_LIST: JsonObject = {**_OF_AN_ANSWER, "ttlMs": 0, "cacheScope": "private"}


def _mend_listing(result: JsonObject, watch: Watch) -> None:
    tools = result.get("tools")
    if not isinstance(tools, list):
        watch.note("The listing has no tools in it, not even an empty list.")
        tools = []
    mended = (_mended_tool(raw, watch) for raw in cast(list[Any], tools))
    _complete(result, _OF_A_LIST)
    _put(result, "tools", "tools/list", mended, watch)
    watch.mended.update((tool["name"], tool) for tool in result["tools"])
    if not isinstance(result.get("nextCursor"), str | None):
        watch.note("The listing goes on at a place that is not text; what follows is not listed.")
        del result["nextCursor"]


def _put(
    result: JsonObject,
    name: str,
    method: str,
    items: Iterable[tuple[JsonObject, int] | None],
    watch: Watch,
) -> None:
    """The usable items on this page, each with its size, until the whole listing is too large."""
    kept: list[JsonObject] = []
    result[name] = kept
    for item in items:
        if item is None:
            continue
        watch.listed[method] = size = watch.listed.get(method, 0) + item[1]
        if size > MAX_LISTING_BYTES:
            limit = f"{MAX_LISTING_BYTES // 1024**2} MiB"
            watch.note(f"{method} gives more than {limit}; what follows is not listed.", method)
            result.pop("nextCursor", None)
            return
        kept.append(item[0])


def _mended_tool(raw: Any, watch: Watch) -> tuple[JsonObject, int] | None:
    tool = cast(JsonObject, raw) if isinstance(raw, dict) else {}
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        watch.note("A tool without a name was left out.")
        return None
    before = watch.mended_before.get(name)
    if before is not None and kept_in(before["_meta"]) == tool:
        return before, before["_meta"][RAW].size
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or not _is_for_objects(cast(JsonObject, schema)):
        watch.note(f"Tool {name!r} was left out: its inputSchema is not an object schema.")
        return None
    found = look_through(tool)
    if found.problem:
        watch.note(f"Tool {name!r} was left out: {found.problem}.")
        return None
    # Of schemas the SDK wants to know only which arguments go into headers.
    seen = cast(JsonObject, schema) if found.mentions_headers else {}
    kept = {RAW: Kept.of(tool, found.size)}
    return {"name": name, "inputSchema": {**seen, "type": "object"}, "_meta": kept}, found.size


def _is_for_objects(schema: JsonObject) -> bool:
    kind = schema.get("type", "object")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _mend_result(result: JsonObject, _watch: Watch) -> None:
    if result.get("resultType") == "input_required":
        return  # the server asks for something first
    _complete(result, _OF_AN_ANSWER)
    content = result.get("content")
    alone = [cast(Any, content)] if isinstance(content, str | dict) else []
    blocks = cast(list[Any], content) if isinstance(content, list) else alone
    result["isError"] = result.get("isError") in (True, "true")
    # What it says passes by the SDK, which would check and copy each block of it several times.
    # Structured content may be anything; in the handshake era the SDK knows only objects.
    kept = {
        "content": [_mended_block(block) for block in blocks],
        "structured": result.pop("structuredContent", None),
    }
    result["content"] = []
    result["_meta"] = {**result.get("_meta", {}), RAW: Kept.of(kept)}


def _mend_handshake(result: JsonObject, _watch: Watch) -> None:
    """What it can do is seen when it is asked; who it is, is for people only."""
    _complete(result, {})
    if not isinstance(result.get("protocolVersion"), str):
        result["protocolVersion"] = _USUAL_VERSION
    info = result.get("serverInfo")
    said = cast(JsonObject, info) if isinstance(info, dict) else {}
    texts = {x: y for x, y in said.items() if isinstance(y, str) and x in _INFO_TEXTS}
    result["serverInfo"] = {"name": "", "version": "", **texts}
    _mend_abilities(result)


def _mend_discovery(result: JsonObject, _watch: Watch) -> None:
    _complete(result, _OF_A_LIST)
    _mend_abilities(result)


def _mend_abilities(result: JsonObject) -> None:
    found = result.get("capabilities")
    abilities: JsonObject = cast(JsonObject, found) if isinstance(found, dict) else {"tools": {}}
    mended = [_mended_ability(name, raw) for name, raw in abilities.items()]
    result["capabilities"] = {name: ability for x in mended for name, ability in x.items()}
    if not isinstance(result.get("instructions"), str):
        result.pop("instructions", None)


def _mended_ability(name: str, raw: Any) -> dict[str, JsonObject]:
    """One part of what it can do, without what is neither yes nor no, nor a part of its own."""
    if not isinstance(raw, dict):
        return {}
    wanted = bool if name in _LISTS else dict
    return {name: {x: y for x, y in cast(JsonObject, raw).items() if isinstance(y, wanted)}}


def _mender_of_list(method: str, name: str, what: str, wanted: tuple[str, ...]) -> _Mender:
    """What mends a page of a listing, whose items must have these texts."""

    def mend(result: JsonObject, watch: Watch) -> None:
        _complete(result, _OF_A_LIST)
        items = result.get(name)
        found = cast(list[Any], items) if isinstance(items, list) else []
        _put(result, name, method, (mended(x, watch) for x in found), watch)
        if not isinstance(result.get("nextCursor"), str | None):
            watch.note(f"{method} goes on at a place that is not text.", method)
            del result["nextCursor"]

    def mended(raw: Any, watch: Watch) -> tuple[JsonObject, int] | None:
        """What is of use of one item, and its size; None where that is nothing."""
        item = cast(JsonObject, raw) if isinstance(raw, dict) else {}
        missing = [x for x in wanted if not isinstance(item.get(x), str)]
        if missing:
            named = next((f" {item[x]!r}" for x in wanted if x not in missing), "")
            watch.note(f"A {what}{named} was left out: it has no {missing[0]}.", method)
            return None
        texts = {x: y for x, y in item.items() if x in _LISTED_TEXTS and isinstance(y, str)}
        kept: JsonObject = {**texts, "icons": _objects(item.get("icons"), "src")}
        if what == "prompt":
            kept["arguments"] = _objects(item.get("arguments"), "name")
        return kept, look_through(kept).size

    return mend


def _objects(raw: Any, wanted: str) -> list[JsonObject]:
    """Those objects of a list that have this text, without what is of another kind than usual."""
    found = cast(list[Any], raw) if isinstance(raw, list) else []
    objects = [cast(JsonObject, x) for x in found if isinstance(x, dict)]
    return [
        {x: _texts_in(y) for x, y in item.items() if isinstance(y, _KINDS.get(x, ()))}
        for item in objects
        if isinstance(item.get(wanted), str)
    ]


def _texts_in(value: Any) -> Any:
    """Of a list only the texts; all else as it is."""
    if not isinstance(value, list):
        return value
    return [x for x in cast(list[Any], value) if isinstance(x, str)]


def _mend_contents(result: JsonObject, watch: Watch) -> None:
    _complete(result, _OF_A_LIST)
    contents = result.get("contents")
    found = cast(list[Any], contents) if isinstance(contents, list) else []
    result["contents"] = [mended for raw in found if (mended := _mended_resource(raw))]
    if len(result["contents"]) < len(found):
        watch.note(
            "Contents without a uri, or with nothing in them, were left out.", "resources/read"
        )


def _mend_prompt(result: JsonObject, watch: Watch) -> None:
    _complete(result, _OF_AN_ANSWER)
    messages = result.get("messages")
    found = cast(list[Any], messages) if isinstance(messages, list) else []
    result["messages"] = [
        {
            "role": "assistant" if message.get("role") == "assistant" else "user",
            "content": _mended_block(message.get("content")),
        }
        for message in (cast(JsonObject, x) for x in found if isinstance(x, dict))
    ]
    if len(result["messages"]) < len(found):
        watch.note("Messages of a prompt that are none were left out.", "prompts/get")
    if not isinstance(result.get("description"), str):
        result.pop("description", None)


def _mend_answer(result: JsonObject, _watch: Watch) -> None:
    _complete(result, _OF_AN_ANSWER)


def unknown_type_of(result: JsonObject) -> str:
    """The type of a result that is of no known one (2026-07-28), for a sentence; else empty."""
    kind = result.get("resultType")
    if kind is None or kind in _RESULT_TYPES:
        return ""
    return repr(kind)[:_SHOWN_TYPE] if isinstance(kind, str | int) else type(kind).__name__


def _complete(result: JsonObject, wanted: JsonObject) -> None:
    for name, value in wanted.items():
        if not isinstance(result.get(name), type(value)):
            result[name] = value
    if not isinstance(result.get("_meta"), dict):
        result.pop("_meta", None)


def _mended_block(raw: Any) -> JsonObject:
    if isinstance(raw, str):
        return {"type": "text", "text": raw}
    block = cast(JsonObject, raw) if isinstance(raw, dict) else {}
    kind = block.get("type")
    if kind == "resource" and (resource := _mended_resource(block.get("resource"))):
        return {"type": kind, "resource": resource}
    wanted = _TEXTS_OF.get(kind) if isinstance(kind, str) else None
    if wanted and all(isinstance(block.get(name), str) for name in wanted):
        optional = [x for x in _OPTIONAL_TEXTS if isinstance(block.get(x), str)]
        return {"type": kind, **{name: block[name] for name in (*wanted, *optional)}}
    return {"type": "text", "text": "", "_meta": {RAW: Kept.of(raw)}}


def _mended_resource(raw: Any) -> JsonObject | None:
    resource = cast(JsonObject, raw) if isinstance(raw, dict) else {}
    texts = {x: text for x in _RESOURCE_TEXTS if isinstance(text := resource.get(x), str)}
    return texts if "uri" in texts and ("text" in texts or "blob" in texts) else None


MENDERS: dict[str, _Mender] = {
    "initialize": _mend_handshake,
    "server/discover": _mend_discovery,
    "tools/list": _mend_listing,
    "tools/call": _mend_result,
    "prompts/get": _mend_prompt,
    "prompts/list": _mender_of_list("prompts/list", "prompts", "prompt", ("name",)),
    "completion/complete": _mend_answer,
    "resources/list": _mender_of_list("resources/list", "resources", "resource", ("name", "uri")),
    "resources/templates/list": _mender_of_list(
        "resources/templates/list", "resourceTemplates", "template", ("name", "uriTemplate")
    ),
    "resources/read": _mend_contents,
}
"""For each request whose answers are mended, what mends them in place."""
