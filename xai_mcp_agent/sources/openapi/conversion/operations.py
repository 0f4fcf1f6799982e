"""The operations of a document as tools, one by one: what is wrong with one costs that one."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ....core.json import JsonObject, as_list, as_object
from ....core.tools import OPENAPI, Tool, ToolAnnotations, ToolKey
from ....core.tools import Operation as Endpoint
from ..document import swagger
from ..document.document import BadOperation, BadReference, Document
from ..document.references import References
from ..document.servers import NoServer, base_url, servers_in
from ..document.values import text_of, texts_of
from ..plan import Body, Placement, RequestPlan
from .body_arguments import BodyArguments, body_arguments
from .definitions import Definition, Notes
from .names import Found, tool_names
from .parameters import Argument, arguments_of, merged, named, plain_path
from .responses import Responses
from .schemas import Schemas
from .security import SecuritySchemes

logger = logging.getLogger(__name__)

_METHODS = ("get", "put", "post", "delete", "patch", "query")
# They are about an operation, or none that a model could use.
_NO_TOOLS = ("OPTIONS", "HEAD", "TRACE", "CONNECT")
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}")
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")
_READS = ("GET", "HEAD", "QUERY")
_REPEATABLE = (*_READS, "PUT", "DELETE")
_MAX_DESCRIPTION, _MAX_TAG, _MAX_TAGS = 4_000, 100, 20
_MAX_PATH = 2_000
# Of a schema with all that it needs. The largest real ones have a quarter of it.
_MAX_CHARACTERS = 2_000_000
_MAX_OPERATIONS = 20_000  # the largest that are published have about 12,000


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: the tool it is, and how a call of it becomes a request."""

    tool: Tool
    plan: RequestPlan
    is_deprecated: bool = False

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    @property
    def description(self) -> str:
        """What a model reads of it."""
        return self.tool.description

    @property
    def input_schema(self) -> JsonObject:
        """What a call must be given."""
        return self.tool.input_schema

    @property
    def tags(self) -> tuple[str, ...]:
        """What the document says that it belongs to."""
        return self.tool.tags

    @property
    def method(self) -> str:
        """Of the request, in capitals."""
        return self.plan.method

    @property
    def path(self) -> str:
        """As the document has it."""
        return self.plan.path


@dataclass(frozen=True, slots=True)
class Problem:
    """What of a document is no tool, and why. Without a `method` it is a whole path."""

    path: str
    reason: str
    method: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}: {self.reason}".lstrip()


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a document comes to."""

    operations: tuple[Operation, ...]
    problems: tuple[Problem, ...]


def convert(document: Document, source: str = "", server: str | None = None) -> Conversion:
    """Make a tool of each operation. `server`: where all are called, whatever the document says.

    Nothing is fetched but files that the document refers to, where it may; takes up to a second of
    the processor for the largest documents.
    """
    return _Converter(document, source, server).converted()


class _Converter:
    """Converts the operations of one document."""

    def __init__(self, document: Document, source: str, server: str | None) -> None:
        self._document = document
        self._source = source
        self._server = server
        self._references = References(document)
        self._requests = Schemas(self._references, document.dialect, "request")
        self._responses = Schemas(self._references, document.dialect, "response")
        self._security = SecuritySchemes(document, self._references)
        self._problems: list[Problem] = []

    def converted(self) -> Conversion:
        """All of them, in the order of the document."""
        found = list(self._found())
        names = tool_names(found)
        tried = (self._tried(x, names[id(x)]) for x in found)
        operations = tuple(x for x in tried if x is not None)
        return Conversion(operations, tuple(self._problems))

    # What there is

    def _found(self) -> Iterator[Found]:
        paths = self._document.root.get("paths")
        if paths is not None and not isinstance(paths, dict):
            self._problems.append(Problem("paths", "It is no object: nothing in it can be found."))
        count = 0
        for path, item in as_object(paths).items():
            if path.startswith("x-"):
                continue
            for found in self._on(path, item):
                count += 1
                if count > _MAX_OPERATIONS:
                    reason = f"It is one of more than {_MAX_OPERATIONS:,} operations."
                    self._problems.append(Problem(_shown(path), reason))
                    return
                yield found

    def _on(self, path: str, item: Any) -> Iterator[Found]:
        try:
            followed = self._followed(item)
            _path(path)
        except BadOperation as cause:
            self._problems.append(Problem(_shown(path), _sentence(cause)))
            return
        for method, raw in _methods(followed):
            try:
                if not _METHOD.fullmatch(method):
                    raise BadOperation("no request can have this method")
                yield Found(path, method, self._followed(raw), followed)
            except BadOperation as cause:
                self._problems.append(Problem(_shown(path), _sentence(cause), _shown(method)))

    def _followed(self, given: Any) -> JsonObject:
        if not isinstance(given, dict):
            raise BadOperation("it is no object")
        return self._references.followed(given)

    def _tried(self, found: Found, name: str) -> Operation | None:
        try:
            return self._operation(found, name)
        except BadOperation as cause:
            reason = _sentence(cause)
        except Exception as cause:  # whatever a document holds, it costs one operation
            logger.warning("%s %s cannot be converted", found.method, found.path, exc_info=True)
            reason = f"It cannot be understood ({type(cause).__name__})."
        self._problems.append(Problem(_shown(found.path), reason, found.method))
        return None

    # One operation

    def _operation(self, found: Found, name: str) -> Operation:
        raw, notes, path = found.raw, Notes(), _path(found.path)
        parameters = merged(self._references, found.item.get("parameters"), raw.get("parameters"))
        request_body: Any = raw.get("requestBody")
        if self._document.dialect.is_swagger:
            parameters, request_body = self._upgraded(parameters, raw)
        sent_path = plain_path(path, parameters)
        arguments = arguments_of(parameters, sent_path, self._requests, notes)
        body = self._body(request_body, found.method, notes)
        placed = named([*arguments, *_of(body)])
        schema, definitions = self._input_schema(placed)
        is_deprecated = raw.get("deprecated") is True
        notes.add(*(line for x in definitions for line in x))
        responses = Responses(self._with_contents(raw), self._references)
        plan = self._plan(found, sent_path, placed, body, responses, notes)
        tool = Tool(
            ToolKey(OPENAPI.name, self._source, name),
            _description(raw, found.item, found.method, path),
            schema,
            responses.output_schema(self._responses),
            annotations=_annotations(found.method),
            tags=_tags(raw),
            operation=Endpoint(found.method, path),
            note=" ".join(notes.lines) or None,
        )
        return Operation(tool, plan, is_deprecated)

    def _upgraded(
        self, parameters: list[JsonObject], raw: JsonObject
    ) -> tuple[list[JsonObject], JsonObject | None]:
        """Both as OpenAPI 3 says them."""
        consumes = swagger.kinds_of(raw, self._document.root, "consumes")
        plain = [x for x in parameters if x.get("in") not in ("body", "formData")]
        return list(map(swagger.parameter_of, plain)), swagger.body_of(parameters, consumes)

    def _with_contents(self, raw: JsonObject) -> JsonObject:
        """The operation, its responses as OpenAPI 3 says them."""
        if not self._document.dialect.is_swagger:
            return raw
        produces = swagger.kinds_of(raw, self._document.root, "produces")
        responses: JsonObject = {}
        for code, response in as_object(raw.get("responses")).items():
            try:
                followed = self._references.followed(response)
            except BadReference:
                continue
            responses[code] = swagger.response_of(followed, produces)
        return {**raw, "responses": responses}

    def _body(self, given: Any, method: str, notes: Notes) -> BodyArguments | None:
        request_body = self._references.followed(given)
        return body_arguments(
            request_body, self._requests, notes,
            is_optional=method in _WITHOUT_BODY, is_new=not self._document.dialect.is_old,
        )  # fmt: skip

    def _input_schema(
        self, placed: list[tuple[str, Argument]]
    ) -> tuple[JsonObject, list[list[str]]]:
        """One schema for all arguments, and what is to be known of its definitions."""
        schema: JsonObject = {"type": "object", "properties": {n: x.schema for n, x in placed}}
        if required := [name for name, x in placed if x.is_required]:
            schema["required"] = required
        # What has no place in the request would be dropped without a word.
        schema["additionalProperties"] = False
        definitions = self._requests.closure(schema)
        _check_size(schema["properties"], definitions)
        if definitions:
            schema["$defs"] = {x.name: x.schema for x in definitions}
        return schema, [x.notes.lines for x in definitions]

    def _plan(
        self,
        found: Found,
        path: str,
        placed: list[tuple[str, Argument]],
        body: BodyArguments | None,
        responses: Responses,
        notes: Notes,
    ) -> RequestPlan:
        whole = body.whole if body else None
        return RequestPlan(
            found.method,
            path,
            self._base_url(found, notes),
            _placements(placed, whole),
            _body_plan(body, next((n for n, x in placed if x is whole), "")),
            self._security.needs(found.raw),
            responses.accept,
            responses.may_be_async,
        )

    def _base_url(self, found: Found, notes: Notes) -> str:
        if self._server is not None:
            return self._server
        try:
            return self._named_url(found)
        except NoServer as cause:
            notes.add(_sentence(cause))
            return ""

    def _named_url(self, found: Found) -> str:
        root, url = self._document.root, self._document.place.key
        url = url if "://" in url else ""
        if self._document.dialect.is_swagger:
            urls = swagger.server_urls(root, found.raw.get("schemes"))
            servers: list[Any] = [{"url": x} for x in urls]
            return base_url(servers, url or "https://")
        return base_url(servers_in(found.raw, found.item, root), url)


def _methods(item: JsonObject) -> Iterator[tuple[str, Any]]:
    """The operations of a path, by method in capitals, as some write it; those of 3.2 too."""
    named = {x.lower(): x for x in (*item, *_METHODS) if x in item and x.lower() in _METHODS}
    for method in _METHODS:
        if method in named:
            yield method.upper(), item[named[method]]
    more = item.get("additionalOperations", {})
    if not isinstance(more, dict):
        yield "", more
    for method, raw in as_object(more).items():
        if method.upper() not in _NO_TOOLS and method.lower() not in named:
            yield method, raw


def _path(path: str) -> str:
    """Without a fragment, which only tells several operations of one path apart.

    Raises:
        BadOperation: nothing can be sent there.
    """
    plain = path.partition("#")[0].strip()
    if len(plain) > _MAX_PATH:
        raise BadOperation(f"its path is longer than {_MAX_PATH:,} characters")
    if text_of(plain, _MAX_PATH) != plain:
        raise BadOperation("its path has characters in it that nobody sees")
    return plain if plain.startswith("/") else f"/{plain}"


def _check_size(arguments: JsonObject, definitions: Iterable[Definition]) -> None:
    """Refuse what no model reads, and others would wait for when it is written.

    Raises:
        BadOperation: it is too much.
    """
    left = _MAX_CHARACTERS - sum(x.characters for x in definitions)
    for name, schema in arguments.items():  # one by one: none of them is too much
        left -= len(name) + len(json.dumps(schema)) if left >= 0 else 0
    if left < 0:
        raise BadOperation(f"its arguments take more than {_MAX_CHARACTERS:,} characters to say")


def _of(body: BodyArguments | None) -> Iterable[Argument]:
    if body is None:
        return ()
    return body.arguments if body.whole is None else (body.whole,)


def _placements(
    placed: list[tuple[str, Argument]], whole: Argument | None
) -> tuple[Placement, ...]:
    return tuple(argument.placed(name) for name, argument in placed if argument is not whole)


def _body_plan(body: BodyArguments | None, argument: str) -> Body | None:
    return replace(body.body, argument=argument) if body else None


def _description(raw: JsonObject, item: JsonObject, method: str, path: str) -> str:
    said = (
        raw.get("summary"),
        raw.get("description"),
        item.get("summary"),
        item.get("description"),
    )
    found = (text_of(x, _MAX_DESCRIPTION) for x in said)
    return next((x for x in found if x), f"{method} {path}")


def _tags(raw: JsonObject) -> tuple[str, ...]:
    found = (text_of(x, _MAX_TAG) for x in texts_of(as_list(raw.get("tags"))[:_MAX_TAGS]))
    return tuple(x for x in found if x)


def _annotations(method: str) -> ToolAnnotations:
    reads = method in _READS
    return ToolAnnotations(
        read_only=reads,
        destructive=True if method == "DELETE" else False if reads else None,
        idempotent=method in _REPEATABLE or None,
        open_world=True,
    )


def _shown(path: str) -> str:
    return text_of(path, _MAX_PATH)


def _sentence(cause: Exception) -> str:
    text = text_of(str(cause), _MAX_DESCRIPTION)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
