"""Python functions as tools: schemas from their signatures, and calls in threads."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

import anyio
from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from ...core.calls import ToolInvocation, remaining_seconds
from ...core.errors import InvalidArguments, ToolTimeout, UnknownTool
from ...core.json import JsonObject
from ...core.results import ResultPart, ToolResult
from ...core.schemas import signature
from ...core.tools import Tool, ToolAnnotations, ToolKey
from ...secrets.redactor import redact_beginning
from ...settings.entry import SourceSettings
from ..progress import ProgressListener
from ..results import ResultTooLarge, result_of
from ..threads import run_in_thread
from .context import CallCancelled, RunningCall, ToolContext

# Length of an exception's text: a model reads no more, and masking secrets takes time.
_MAX_ERROR_CHARS = 10_000
# Length of a message, which may quote a whole document. It is longer than the limit for models, so
# that a secret at the end is masked before the text is cut.
_MAX_CHARS = 100_000
_MAX_PROBLEMS = 20  # a long list may be wrong in every item
_MAX_ITEMS = 100_000  # of a generator; more would not fit into a result
# Unlike a plain call, these can be stopped midway.
_STOPPABLE = (
    inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction,
)  # fmt: skip
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Function:
    """Function of a file.

    `arguments` checks the arguments of a call and returns them by parameter. `contexts` are the
    parameters that receive the call's `ToolContext`. A function that `can_stop` ends when its
    caller has gone, or can at least notice.
    """

    tool: Tool
    file: str
    run: Callable[..., Any]
    arguments: TypeAdapter[dict[str, Any]]
    contexts: frozenset[str] = frozenset()
    can_stop: bool = False

    @classmethod
    def of(
        cls,
        key: ToolKey,
        file: str,
        run: Callable[..., Any],
        annotations: ToolAnnotations | None = None,
    ) -> Function:
        """Make a tool of a function. Raises errors of pydantic or Python about its types."""
        function_signature = inspect.signature(run, eval_str=True)
        parameters = [x for x in function_signature.parameters.values() if x.kind not in _MANY]
        if positional := [x.name for x in parameters if x.kind is x.POSITIONAL_ONLY]:
            problem = f"its parameter {positional[0]!r} is positional-only"
            raise TypeError(f"{problem}, and tools pass arguments by name")
        contexts = frozenset(x.name for x in parameters if _is_context(x.annotation))
        stand_in = _stand_in([x for x in parameters if x.name not in contexts])
        arguments: TypeAdapter[dict[str, Any]] = TypeAdapter(cast(Any, stand_in))
        schema = arguments.json_schema(schema_generator=ToolSchema)
        tool = Tool(
            key,
            inspect.getdoc(run) or "",
            {"properties": {}, **schema},
            _output_schema(function_signature.return_annotation),
            annotations=annotations or ToolAnnotations(),
        )
        inner = inspect.unwrap(run)
        can_stop = bool(contexts) or any(is_one(inner) for is_one in _STOPPABLE)
        return cls(tool, file, run, arguments, contexts, can_stop)

    def call(self, arguments: JsonObject, running: RunningCall) -> ToolResult:
        """Check the arguments and call the function. An exception of it becomes a result.

        Raises:
            InvalidArguments: they do not fit; the function was not called.
        """
        try:
            # As JSON, because a model wrote it: dates and enumerations are text there.
            values = self.arguments.validate_json(json.dumps(arguments))
        except ValidationError as cause:
            wrong = cause.errors(include_input=False)[:_MAX_PROBLEMS]
            problems = [f"{_place(x['loc'])}: {x['msg'][:_MAX_CHARS]}" for x in wrong]
            expected = signature(self.tool.input_schema)
            raise InvalidArguments(self.tool.name, problems, expected) from None
        except BaseException as cause:  # noqa: BLE001 - of a person's validator
            return self._failure(cause)
        values |= {name: ToolContext(running) for name in self.contexts}
        try:
            return _check_parts(result_of(_outcome(self.run(**values), running)))
        except BaseException as cause:  # noqa: BLE001 - sys.exit in a function ends the call alone
            return self._failure(cause)

    def _failure(self, cause: BaseException) -> ToolResult:
        text = f"{self.tool.name} failed: {words_of(cause, self.file)}"
        return ToolResult.of_text(text, is_error=True)


class FunctionCalls:
    """Makes the calls of one source's functions."""

    def __init__(self, settings: SourceSettings, mask: Callable[[str], str]) -> None:
        self._settings = settings
        self._mask = mask

    async def call(
        self,
        invocation: ToolInvocation,
        ready: Callable[[float], Awaitable[Mapping[str, Function]]],
    ) -> ToolResult:
        """Call a function in a thread; see `Source.call`. `ready` returns the current functions.

        When the caller has gone, a coroutine is cancelled; other functions see it in their context.

        Raises:
            InvalidArguments: they do not fit the function's types.
            UnknownTool: the source does not have it any more.
            ToolTimeout: it did not end in time.
            SourceFailed: too many functions that did not end are still running.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        function = (await ready(limit)).get(name)
        if function is None:
            raise UnknownTool(f"{self._settings.name} has no function {name!r} any more.")
        if invocation.check is not None:
            invocation.check()
        call, notes = RunningCall(asyncio.get_running_loop()), list[str]()
        listener = invocation.on_progress and ProgressListener(invocation.on_progress, notes)
        try:
            result = await run_in_thread(
                self._settings.name,
                partial(function.call, invocation.arguments, call),
                remaining_seconds(limit, anyio.current_time() - started),
                partial(call.watch, listener),
            )
        except TimeoutError as cause:
            raise self._too_slow(function, limit) from cause
        except InvalidArguments as wrong:
            problems = [self._mask_text(x) for x in wrong.problems]
            expected = signature(function.tool.input_schema)
            raise InvalidArguments(name, problems, expected) from None
        finally:
            call.end()
        # An exception may quote the environment; a result is meant for the model.
        if result.is_error:
            result = ToolResult.of_text(self._mask_text(result.text), is_error=True)
        return replace(result, notes=(*result.notes, *notes)) if notes else result

    def _mask_text(self, text: str) -> str:
        """Return the text of a person's code without secrets, cut to a limit."""
        masked = redact_beginning(text, self._mask, _MAX_ERROR_CHARS)
        is_cut = len(text) > _MAX_ERROR_CHARS + len(masked)
        return f"{masked}... (the rest is left out)" if is_cut else masked

    def _too_slow(self, function: Function, limit: float) -> ToolTimeout:
        rest = "We asked it to stop."
        if not function.can_stop:
            rest = (
                "It goes on in the background: a function without a ToolContext cannot be stopped."
            )
        return ToolTimeout(
            self._settings.name,
            f"the function {function.tool.name} did not end within {limit:g} s. {rest}",
            "Give it more time with `timeout`, or have it do less.",
            is_of_tool=True,
        )


def _stand_in(parameters: Sequence[inspect.Parameter]) -> Callable[..., dict[str, Any]]:
    """Return a function with these parameters that returns its arguments.

    pydantic calls it to check the arguments. An error in the function itself is then not mistaken
    for an error in the arguments.
    """

    def stand_in(**arguments: Any) -> dict[str, Any]:
        return arguments

    typed = [x.replace(annotation=Any) if x.annotation is x.empty else x for x in parameters]
    stand_in.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [x.replace(kind=x.KEYWORD_ONLY) for x in typed]
    )
    stand_in.__annotations__ = {x.name: x.annotation for x in typed}
    return stand_in


def _outcome(value: Any, running: RunningCall) -> Any:
    """Return the value of a coroutine or a generator, and any other value as it is."""
    if inspect.isgenerator(value):
        return _list_while_awaited(cast(Generator[Any], value), running)
    if inspect.isasyncgen(value):
        value = _list_all(cast(AsyncGenerator[Any], value))
    # On a loop of this thread: a coroutine may block, which must not stop the shared loop.
    return asyncio.run(_await_result(value, running)) if inspect.isawaitable(value) else value


def words_of(cause: BaseException, file: str) -> str:
    """Return the type of an error, its message, and the last line of the file in its traceback."""
    try:
        text = str(cause)[:_MAX_CHARS]
    except BaseException:  # noqa: BLE001 - it is a person's class
        text = ""
    lines: list[int] = []
    traceback = cause.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    where = f" (in {Path(file).name}, line {lines[-1]})" if lines else ""
    return f"{type(cause).__name__}{': ' if text else ''}{text}{where}"


class ToolSchema(GenerateJsonSchema):
    """Writes schemas without titles, which only repeat names, and without warnings."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Ignore the warning: nobody could act on it."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        return False

    def default_schema(self, schema: Any) -> JsonObject:
        """Omit a default that is not a number of JSON."""
        with_default = super().default_schema(schema)
        default = with_default.get("default")
        if isinstance(default, float) and not math.isfinite(default):
            del with_default["default"]
        return with_default


def _output_schema(annotation: Any) -> JsonObject | None:
    """Return the schema of the result if it is an object; None if it is not, or unknown."""
    if annotation in (inspect.Signature.empty, None, Any, ToolResult):
        return None
    try:
        schema = TypeAdapter(annotation).json_schema(
            mode="serialization", schema_generator=ToolSchema
        )
    except Exception:  # noqa: BLE001 - the function works without an output schema
        return None
    return schema if schema.get("type") == "object" else None


def _check_parts(result: ToolResult) -> ToolResult:
    """Return a result after a check of the types of its parts, which a function may have made."""
    parts = cast(tuple[Any, ...], result.parts)
    wrong = [x for x in parts if not isinstance(x, ResultPart)]
    if wrong:
        raise TypeError(
            f"`parts` of its ToolResult contain a {type(wrong[0]).__name__}, which is not a part"
        )
    return result


def _place(keys: tuple[int | str, ...]) -> str:
    return ".".join(map(str, keys)) or "arguments"


def _is_context(annotation: Any) -> bool:
    """Return whether an annotation is `ToolContext`, perhaps `| None` or in `Annotated`."""
    return annotation is ToolContext or any(map(_is_context, get_args(annotation)))


def _list_while_awaited(values: Generator[Any], running: RunningCall) -> list[Any]:
    """Return the values of a generator, and close it once the caller has gone."""
    items: list[Any] = []
    for value in values:
        if running.is_over:
            values.close()
            raise CallCancelled("the caller has stopped waiting for this call")
        _append(items, value)
    return items


async def _list_all(values: AsyncGenerator[Any]) -> list[Any]:
    items: list[Any] = []
    async for value in values:
        _append(items, value)
    return items


def _append(items: list[Any], value: Any) -> None:
    """Add a value of a generator, which may be endless."""
    if len(items) == _MAX_ITEMS:
        raise ResultTooLarge
    items.append(value)


async def _await_result(value: Awaitable[Any], running: RunningCall) -> Any:
    """Await a coroutine on this loop, as long as a caller waits."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        loop.call_soon_threadsafe(task.cancel)

    with running.on_end(stop):
        return await value
