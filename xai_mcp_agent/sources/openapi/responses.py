"""What an operation answers: which media types can be asked for, and what a result looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...core.json import JsonObject, as_object
from . import swagger
from .document import BadOperation, BadReference, Document
from .schemas import Notes, Schemas

# Characters. A model sees the result itself; a schema is also compared, and kept in the history,
# for each tool, and those of large services are megabytes together.
_MAX_OUTPUT = 20_000
_MAX_ACCEPTED = 5
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]{1,80}/[\w!#$&^.+*-]{1,120}")
_SUCCESS = re.compile(r"2\d\d|2XX", re.IGNORECASE)
_JOB_HEADERS = ("location", "operation-location", "azure-asyncoperation", "content-location")


class Responses:
    """The successful responses of one operation."""

    def __init__(self, operation: JsonObject, document: Document) -> None:
        self._document = document
        responses = as_object(operation.get("responses"))
        media_types = swagger.media_types(operation, document.root, "produces")
        self._by_code = {
            code: self._follow(responses[code], media_types)
            for code in sorted(filter(_SUCCESS.fullmatch, responses))
        }

    def _follow(self, response: Any, media_types: Any) -> JsonObject:
        try:
            followed = self._document.follow(response)
        except BadReference:
            return {}
        is_swagger = self._document.is_swagger
        return swagger.response_of(followed, media_types) if is_swagger else followed

    @property
    def accept(self) -> str:
        """The media types to ask for, JSON first."""
        names = dict.fromkeys(x for content in self._contents() for x in content)
        bases = (x.partition(";")[0].strip() for x in names)
        usable = sorted(filter(_MEDIA_TYPE.fullmatch, bases), key=lambda x: not _is_json(x))
        return ", ".join(dict.fromkeys(usable[:_MAX_ACCEPTED])) or "*/*"

    @property
    def may_be_async(self) -> bool:
        """Whether it may answer that it has only begun, and where it can be asked."""
        headers = as_object(self._by_code.get("202", {}).get("headers"))
        return any(name.lower() in _JOB_HEADERS for name in headers)

    def output_schema(self, schemas: Schemas) -> JsonObject | None:
        """Return what a result is, where that is an object and not too much to say."""
        for content in self._contents():
            described = next((x for kind, x in content.items() if _is_json(kind)), None)
            if described is not None:
                try:
                    schema = self._document.follow(described).get("schema")
                    return _whole_schema(schemas, schemas.translate(schema, Notes()))
                except BadOperation:
                    return None  # it can be called all the same
        return None

    def _contents(self) -> Iterator[JsonObject]:
        contents = (as_object(x.get("content")) for x in self._by_code.values())
        return filter(None, contents)


def _whole_schema(schemas: Schemas, schema: JsonObject | bool) -> JsonObject | None:
    resolved, _ = schemas.resolve(schema)
    if resolved.get("type") != "object" and "properties" not in resolved:
        return None
    whole: JsonObject = {**resolved, "type": "object"}
    definitions = schemas.closure(whole)
    if len(json.dumps(whole)) + sum(x.characters for x in definitions) > _MAX_OUTPUT:
        return None
    return {**whole, "$defs": {x.name: x.schema for x in definitions}} if definitions else whole


def _is_json(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower().endswith(("/json", "+json"))
