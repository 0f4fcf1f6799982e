"""What an operator says of one operation of a service: templates, and how to wait for its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticKnownError

from .entry import Seconds, Text, Texts, mistake, spelled
from .http import header_names

Mode: TypeAlias = Literal["auto", "sync_http", "async_poll"]
"""sync_http: its answer is the result. async_poll: it starts a job, whose status is asked for until
it has a result. auto: a job, if it answers 202 and says where."""

DEADLINE_SECONDS = 600.0  # ten minutes: reports and exports take some, a lost job must end
INTERVAL_SECONDS = 1.0
MAX_INTERVAL_SECONDS = 30.0  # a person who waits sees that something goes on
GROWTH = 1.5
SUCCESS = ("succeeded", "success", "successful", "completed", "complete", "done", "finished",
           "ready", "ok")  # fmt: skip
FAILURE = ("failed", "failure", "error", "errored", "cancelled", "canceled", "aborted", "expired",
           "rejected", "timed_out", "timedout")  # fmt: skip


def _pointer(text: str) -> str:
    if text and not text.startswith("/"):
        raise mistake("this is no JSON pointer.", "Write it as /status or /data/0/id.")
    return text


def _object(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise PydanticKnownError("dict_type")
    return cast(Any, value)


_Pointer = Annotated[Text, AfterValidator(_pointer)]
_Growth = Annotated[float, Field(strict=True, ge=1, le=10)]


@dataclass(frozen=True, kw_only=True)
class AsyncSettings:
    """How a job that an operation starts is followed.

    The job's address, or its id, is in the header `job_header` of the first answer (empty:
    `Operation-Location` or `Location`), or at the JSON pointer `job_pointer`. In `poll_url`,
    `result_url` and `cancel_url` `{job}` stands for its id, `{url}` for its address, and in
    `result_url` `{result}` for what `result_pointer` leads to; a path is added to the base URL.
    Without a `status_pointer` `/status` and `/state` are looked at. `hosts` are those beside the
    service's own that it may be at; they get no credentials.
    """

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)

    job_header: Annotated[Text, spelled("jobHeader")] = ""
    job_pointer: Annotated[_Pointer, spelled("jobPointer")] = ""
    poll_url: Annotated[Text, spelled("pollUrl")] = ""
    status_pointer: Annotated[_Pointer, spelled("statusPointer")] = ""
    success: Texts = SUCCESS
    failure: Texts = FAILURE
    running: Texts = ()
    progress_pointer: Annotated[_Pointer, spelled("progressPointer")] = "/progress"
    result_pointer: Annotated[_Pointer, spelled("resultPointer")] = ""
    result_url: Annotated[Text, spelled("resultUrl")] = ""
    interval_seconds: Annotated[Seconds, spelled("interval")] = INTERVAL_SECONDS
    growth: _Growth = GROWTH
    max_interval_seconds: Annotated[Seconds, spelled("maxInterval")] = MAX_INTERVAL_SECONDS
    deadline_seconds: Annotated[Seconds, spelled("deadline")] = DEADLINE_SECONDS
    cancel_url: Annotated[Text, spelled("cancelUrl")] = ""
    cancel_method: Annotated[Literal["DELETE", "POST", "PUT", "PATCH"], spelled("cancelMethod")] = (
        "DELETE"
    )
    hosts: Texts = ()


@dataclass(frozen=True, kw_only=True)
class OperationSettings:
    """One operation. `url`, `headers` and `body` are templates that count in place of the plan's.

    With a `job` and no `mode` the operation starts a job.
    """

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)

    mode: Mode = "auto"
    job: Annotated[AsyncSettings | None, spelled("async")] = None
    url: Text = ""
    headers: Annotated[dict[str, Text], BeforeValidator(_object), AfterValidator(header_names)] = (
        field(default_factory=dict[str, str], hash=False)
    )
    body: Text = ""
    call_timeout_seconds: Annotated[Seconds | None, spelled("timeout")] = None

    @property
    def is_job(self) -> bool:
        """Whether its first answer is never the result."""
        return self.mode == "async_poll" or (self.mode == "auto" and self.job is not None)


OperationsByName = Annotated[dict[str, OperationSettings], BeforeValidator(_object)]
"""The `operations` of an entry, by the names of tools."""
