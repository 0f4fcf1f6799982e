"""Requests of the REST interface: bodies and queries, validated by pydantic."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SelectBody(_Body):
    """A request in plain words, for the tools of these servers and groups, or of all."""

    request: Text
    servers: list[str] = []


class PlanBody(SelectBody):
    """The same, with the `model` that makes the plan, such as `openai:gpt-5-mini`."""

    model: str = ""


class CallBody(_Body):
    """A tool, as `server/tool`, and its arguments."""

    tool: Text
    arguments: dict[str, Any] = {}
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class AcceptBody(_Body):
    """The digest of the review to accept."""

    digest: Text


class ApprovalBody(_Body):
    """The answer to an approval: this call, every call of the unchanged tool, or none."""

    answer: Literal["once", "always", "no"]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = Field(100, ge=1, le=500)
    cursor: str = ""
    source: str | None = None


class ToolsQuery(_Query):
    """Filters of tools. `text` is looked for in names and descriptions."""

    text: str = ""
    enabled: bool | None = None


class HistoryQuery(_Query):
    """Filters of events. `since` is a time, or so long ago: `2h`."""

    tool: str | None = None
    since: str = ""


class GraphQuery(BaseModel):
    """The part of the graph around a source, or around a tool of it."""

    model_config = ConfigDict(extra="forbid")
    source: str | None = None
    tool: str | None = None


class RefreshQuery(BaseModel):
    """With `force` every tool is written into the history."""

    model_config = ConfigDict(extra="forbid")
    force: bool = False
