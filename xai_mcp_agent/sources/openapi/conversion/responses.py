"""What an operation answers: which media types can be asked for, and what a result looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ....core.json import JsonObject, as_object
from ..document.document import BadOperation, BadReference
from ..document.references import References
from .definitions import Notes
from .schemas import Schemas

# Nobody is helped by more: a model sees the result itself. It would also be compared and kept in
# the history for each tool, and those of large services are megabytes together. Characters.
_MAX_OUTPUT = 20_000
_MAX_ASKED_FOR = 5
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]{1,80}/[\w!#$&^.+*-]{1,120}")
_SUCCESS = re.compile(r"2\d\d|2XX", re.IGNORECASE)
_PLACES = ("location", "operation-location", "azure-asyncoperation", "content-location")


class Responses:
    """The good answers of one operation."""

    def __init__(self, operation: JsonObject, references: References) -> None:
        self._references = references
        given = as_object(operation.get("responses"))
        found = sorted((code, x) for code, x in given.items() if _SUCCESS.fullmatch(code))
        self._all = dict(self._followed(code, x) for code, x in found)

    def _followed(self, code: str, response: object) -> tuple[str, JsonObject]:
        try:
            return code, self._references.followed(response)
        except BadReference:
            return code, {}

    @property
    def accept(self) -> str:
        """The media types to ask for, JSON first."""
        kinds = dict.fromkeys(x for _, content in self._contents() for x in content)
        usable = (x.partition(";")[0].strip() for x in kinds)
        known = sorted((x for x in usable if _MEDIA_TYPE.fullmatch(x)), key=_is_not_json)
        return ", ".join(dict.fromkeys(known[:_MAX_ASKED_FOR])) or "*/*"

    @property
    def may_be_async(self) -> bool:
        """Whether it may answer that it has only begun, and where it can be asked."""
        headers = as_object(self._all.get("202", {}).get("headers"))
        return any(name.lower() in _PLACES for name in headers)

    def output_schema(self, schemas: Schemas) -> JsonObject | None:
        """What a result is, where that is an object and not too much to say."""
        for _, content in self._contents():
            described = next((x for kind, x in content.items() if not _is_not_json(kind)), None)
            if described is not None:
                try:
                    schema = self._references.followed(described).get("schema")
                    return _closed(schemas, schemas.translated(schema, Notes()))
                except BadOperation:
                    return None  # it can be called all the same
        return None

    def _contents(self) -> Iterator[tuple[str, JsonObject]]:
        for code, response in self._all.items():
            if content := as_object(response.get("content")):
                yield code, content


def _closed(schemas: Schemas, schema: JsonObject | bool) -> JsonObject | None:
    found, _ = schemas.resolved(schema)
    if found.get("type") != "object" and "properties" not in found:
        return None
    whole: JsonObject = {**found, "type": "object"}
    definitions = schemas.closure(whole)
    own = len(json.dumps(whole))
    if own + sum(x.characters for x in definitions) > _MAX_OUTPUT:
        return None
    return {**whole, "$defs": {x.name: x.schema for x in definitions}} if definitions else whole


def _is_not_json(kind: str) -> bool:
    base = kind.partition(";")[0].strip().lower()
    return not base.endswith(("/json", "+json"))
