"""The operations of a document as tools. A mistake in one operation costs only that tool."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.json import as_object
from ...core.tools import OPENAPI, JsonObject, Tool, ToolAnnotations, ToolKey
from ...core.tools import Operation as Endpoint
from .arguments import (
    Argument,
    body_arguments,
    merge_parameters,
    name_arguments,
    parameter_arguments,
    plain_path,
)
from .document import BadOperation, Document, text_of, texts_of
from .plan import RequestPlan, base_of, is_json_type
from .request import TOKEN
from .schemas import Definition, SchemaNotes, Schemas
from .swagger import inputs_of, security_needs, server_url, success_responses

logger = logging.getLogger(__name__)

_METHODS = ("get", "put", "post", "delete", "patch", "query")
# They describe an operation, or are of no use to a model.
_NO_TOOLS = ("OPTIONS", "HEAD", "TRACE", "CONNECT")
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")
_READING = ("GET", "HEAD", "QUERY")
_REPEATABLE = (*_READING, "PUT", "DELETE")
_MAX_DESCRIPTION, _MAX_TAG, _MAX_PATH = 4_000, 100, 2_000
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_NAME, _DIGEST_CHARS, _MAX_ACCEPTED = 128, 8, 5
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]{1,80}/[\w!#$&^.+*-]{1,120}")
_JOB_HEADERS = ("location", "operation-location", "azure-asyncoperation", "content-location")
# Characters. A model sees the result itself; besides, each tool's schema is compared and stored in
# the history, and the schemas of a large service are megabytes together.
_MAX_OUTPUT = 20_000
_OPERATION_WORK = 100  # see `Document.spend`


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its tool, and the plan for its request."""

    tool: Tool
    plan: RequestPlan
    is_deprecated: bool = False

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    @property
    def description(self) -> str:
        """The description that a model reads."""
        return self.tool.description

    @property
    def input_schema(self) -> JsonObject:
        """The schema of the arguments."""
        return self.tool.input_schema

    @property
    def tags(self) -> tuple[str, ...]:
        """The groups that the document puts it in."""
        return self.tool.tags

    @property
    def method(self) -> str:
        """The HTTP method, in capitals."""
        return self.plan.method

    @property
    def path(self) -> str:
        """The path, as in the document."""
        return self.plan.path


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a document that is not a tool, and why. Without a `method` it is a whole path."""

    path: str
    reason: str
    method: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}: {self.reason}".lstrip()


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of converting a document."""

    operations: tuple[Operation, ...]
    problems: tuple[Problem, ...]


def convert(document: Document, source: str = "", server: str | None = None) -> Conversion:
    """Make a tool of each operation. `server` replaces the servers that the document names.

    It fetches only files that the document refers to and may read. The largest documents take up to
    a second of CPU time.
    """
    return _Converter(document, source, server).convert()


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An operation as the document has it, with the path item that it belongs to."""

    path: str
    method: str
    operation: JsonObject
    path_item: JsonObject


class _Converter:
    """Converter for the operations of one document."""

    def __init__(self, document: Document, source: str, server: str | None) -> None:
        self._document = document
        self._source = source
        self._server = server
        self._requests = Schemas(document, "request")
        self._responses = Schemas(document, "response")
        self._problems: list[Problem] = []

    def convert(self) -> Conversion:
        """Convert all operations, in the document's order."""
        endpoints = list(self._endpoints())
        names = _tool_names(endpoints)
        tried = [self._try(x, names[id(x)]) for x in endpoints]
        operations = tuple(x for x in tried if x is not None)
        return Conversion(operations, tuple(self._problems))

    def _endpoints(self) -> Iterator[_Endpoint]:
        paths = self._document.root.get("paths")
        if paths is not None and not isinstance(paths, dict):
            self._fail("paths", "it is not an object")
        for path, value in as_object(paths).items():
            if path.startswith("x-"):
                continue
            try:
                path_item = self._follow(value)
                _clean_path(path)
            except BadOperation as cause:
                self._fail(path, cause)
                continue
            for method, raw in _methods(path_item):
                try:
                    if not TOKEN.fullmatch(method):
                        raise BadOperation("this is not a valid method")
                    yield _Endpoint(path, method, self._follow(raw), path_item)
                except BadOperation as cause:
                    self._fail(path, cause, method)

    def _follow(self, value: Any) -> JsonObject:
        if not isinstance(value, dict):
            raise BadOperation("it is not an object")
        return self._document.follow(value)

    def _try(self, endpoint: _Endpoint, name: str) -> Operation | None:
        try:
            return self._operation(endpoint, name)
        except BadOperation as cause:
            self._fail(endpoint.path, cause, endpoint.method)
        except Exception as cause:  # whatever is wrong in a document costs one operation only
            logger.warning("%s %s: no tool", endpoint.method, endpoint.path, exc_info=True)
            problem = f"it cannot be understood ({type(cause).__name__})"
            self._fail(endpoint.path, problem, endpoint.method)
        return None

    def _fail(self, path: str, cause: Exception | str, method: str = "") -> None:
        texts = text_of(path, _MAX_PATH), _sentence(cause), text_of(method, _MAX_PATH)
        self._problems.append(Problem(*texts))

    def _operation(self, endpoint: _Endpoint, name: str) -> Operation:
        document, operation, method = self._document, endpoint.operation, endpoint.method
        document.spend(_OPERATION_WORK)
        notes, document_path = SchemaNotes(), _clean_path(endpoint.path)
        levels = endpoint.path_item.get("parameters"), operation.get("parameters")
        merged = merge_parameters(document, *levels)
        parameters, request_body = inputs_of(document, operation, merged)
        path = plain_path(document_path, parameters)
        arguments = parameter_arguments(parameters, path, self._requests, notes)
        is_optional = method in _WITHOUT_BODY
        body, inner = body_arguments(request_body, self._requests, notes, is_optional=is_optional)
        arguments = name_arguments([*arguments, *inner])
        schema = self._input_schema(arguments, notes)
        placements = [x.placement for x in arguments]
        if body is not None and body.argument:
            body = replace(body, argument=placements.pop().argument)  # the body is last
        responses = success_responses(document, operation)
        base_url, security = self._server, security_needs(document, operation)
        if base_url is None:
            base_url = server_url(document, operation, endpoint.path_item, notes)
        plan = RequestPlan(
            method, path, base_url, tuple(placements), body, security, _accept(responses),
            _may_be_async(responses),
        )  # fmt: skip
        tool = Tool(
            ToolKey(OPENAPI.name, self._source, name),
            _description(endpoint, document_path),
            schema,
            self._output_schema(responses),
            annotations=_annotations(method),
            tags=_tags(operation),
            operation=Endpoint(method, document_path),
            note=" ".join(notes.lines) or None,
        )
        return Operation(tool, plan, operation.get("deprecated") is True)

    def _input_schema(self, arguments: list[Argument], notes: SchemaNotes) -> JsonObject:
        """Return one schema for all arguments, and add the notes of its definitions."""
        properties = {x.placement.argument: x.schema for x in arguments}
        schema: JsonObject = {"type": "object", "properties": properties}
        if required := [x.placement.argument for x in arguments if x.placement.is_required]:
            schema["required"] = required
        # Unknown arguments have no place in the request: refuse them instead of dropping them.
        schema["additionalProperties"] = False
        definitions = self._requests.closure(schema)
        for definition in definitions:
            notes.add(*definition.notes.lines)
        return _with_definitions(schema, definitions)

    def _output_schema(self, responses: Mapping[str, JsonObject]) -> JsonObject | None:
        """Return the schema of a result if it is an object and not too long."""
        described = (x for content in _contents(responses) for kind, x in content.items()
                     if is_json_type(base_of(kind)))  # fmt: skip
        schemas = self._responses
        try:
            first = self._document.follow(next(described, None)).get("schema")
            resolved = schemas.resolve(schemas.translate(first, SchemaNotes()))
            if resolved.get("type") != "object" and "properties" not in resolved:
                return None
            schema: JsonObject = {**resolved, "type": "object"}
            definitions = schemas.closure(schema)
        except BadOperation:
            return None  # it can still be called
        if len(json.dumps(schema)) + sum(x.characters for x in definitions) > _MAX_OUTPUT:
            return None
        return _with_definitions(schema, definitions)


# Details of an operation


def _with_definitions(schema: JsonObject, definitions: Sequence[Definition]) -> JsonObject:
    schemas = {x.name: x.schema for x in definitions}
    return {**schema, "$defs": schemas} if schemas else schema


def _methods(path_item: JsonObject) -> Iterator[tuple[str, Any]]:
    """Yield the operations of a path by method; some documents write methods in capitals."""
    keys = (x for x in (*path_item, *_METHODS) if x in path_item)
    key_by_method = {x.lower(): x for x in keys if x.lower() in _METHODS}
    for method in _METHODS:
        if method in key_by_method:
            yield method.upper(), path_item[key_by_method[method]]
    # New in 3.2.
    for method, operation in as_object(path_item.get("additionalOperations")).items():
        if method.upper() not in _NO_TOOLS and method.lower() not in key_by_method:
            yield method, operation


def _clean_path(path: str) -> str:
    """Return a path without its fragment, which only distinguishes operations of one path.

    Raises:
        BadOperation: no request can be sent to this path.
    """
    plain = path.partition("#")[0].strip()
    if text_of(plain, _MAX_PATH) != plain:
        raise BadOperation("its path is too long or has invisible characters")
    return plain if plain.startswith("/") else f"/{plain}"


def _description(endpoint: _Endpoint, path: str) -> str:
    levels = endpoint.operation, endpoint.path_item
    texts = (
        text_of(x.get(w), _MAX_DESCRIPTION) for x in levels for w in ("summary", "description")
    )
    return next(filter(None, texts), f"{endpoint.method} {path}")


def _tags(operation: JsonObject) -> tuple[str, ...]:
    return tuple(filter(None, (text_of(x, _MAX_TAG) for x in texts_of(operation.get("tags")))))


def _annotations(method: str) -> ToolAnnotations:
    reads = method in _READING
    return ToolAnnotations(
        read_only=reads,
        destructive=True if method == "DELETE" else False if reads else None,
        idempotent=method in _REPEATABLE or None,
        open_world=True,
    )


def _sentence(cause: Exception | str) -> str:
    text = text_of(str(cause), _MAX_DESCRIPTION)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _contents(responses: Mapping[str, JsonObject]) -> list[JsonObject]:
    return [as_object(x.get("content")) for x in responses.values()]


def _accept(responses: Mapping[str, JsonObject]) -> str:
    """Return the media types for `Accept`, JSON first."""
    names = dict.fromkeys(x for content in _contents(responses) for x in content)
    kinds = (x.partition(";")[0].strip() for x in names)
    usable = filter(_MEDIA_TYPE.fullmatch, kinds)
    usable = sorted(usable, key=lambda x: not is_json_type(x.lower()))
    return ", ".join(dict.fromkeys(usable[:_MAX_ACCEPTED])) or "*/*"


def _may_be_async(responses: Mapping[str, JsonObject]) -> bool:
    """Return whether it may answer 202 with the address of a job."""
    headers = as_object(responses.get("202", {}).get("headers"))
    return any(name.lower() in _JOB_HEADERS for name in headers)


# Names


def _tool_names(endpoints: Iterable[_Endpoint]) -> dict[int, str]:
    """Return a name for each endpoint by its `id`, independent of the document's order.

    If several have the same operationId, the first by path and method gets it; the others add their
    method, then their path.
    """
    wishes: defaultdict[str, list[_Endpoint]] = defaultdict(list)
    for endpoint in sorted(endpoints, key=lambda x: (not _operation_id(x), x.path, x.method)):
        wishes[_operation_id(endpoint) or _name_from_path(endpoint)].append(endpoint)
    names: dict[int, str] = {}
    all_names = set(wishes)
    for wish, several in wishes.items():
        names[id(several[0])] = wish
        for endpoint in several[1:]:
            names[id(endpoint)] = name = _distinct_name(wish, endpoint, all_names)
            all_names.add(name)
    return names


def _operation_id(endpoint: _Endpoint) -> str:
    name = endpoint.operation.get("operationId")
    if not isinstance(name, str):
        return ""
    return _cut(_NOT_IN_NAMES.sub("_", name[:_MAX_PATH]).strip("_"))


def _name_from_path(endpoint: _Endpoint) -> str:
    path = re.sub(r"[{}]", "", endpoint.path.partition("#")[0])
    slug = _NOT_IN_NAMES.sub("_", path.replace("/", "_")).strip("_")
    return _cut(f"{endpoint.method.lower()}_{slug}".rstrip("_"))


def _distinct_name(wish: str, endpoint: _Endpoint, all_names: set[str]) -> str:
    where = _digest(f"{endpoint.method} {endpoint.path}")
    ends = (endpoint.method.lower(), _name_from_path(endpoint), where)
    names = (_cut(f"{wish}_{end}") for end in ends)
    return next((x for x in names if x not in all_names), f"{wish}_{where}")


def _cut(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - _DIGEST_CHARS - 1]}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
