"""Nodes behind drawn tools: they take what the model said and make up an answer."""

import json

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    secret,
    xai_component,
)


class sqlite3:
    """The module whose class is a port's type."""

    class Connection:
        """What is open."""


@xai_component
class TasksOpenDB(Component):
    """Opens the tasks."""

    db_file: InArg[str]
    connection: OutArg[sqlite3.Connection]

    def execute(self, ctx) -> None:
        ctx["tasks_are_open"] = True


@xai_component
class TasksCloseDB(Component):
    """Closes the tasks."""

    connection: InArg[sqlite3.Connection]

    def execute(self, ctx) -> None:
        del ctx["tasks_are_open"]


@xai_component
class TasksCreateTask(Component):
    """Makes a task."""

    task_id: InArg[any]
    summary: InArg[str]
    steps: InArg[list]
    connection: InArg[sqlite3.Connection]
    created: OutArg[str]

    def execute(self, ctx) -> None:
        self.created.value = f"created: {self.summary.value}"


@xai_component
class TasksGetTaskDetails(Component):
    """Tells of a task."""

    task_id: InArg[any]
    connection: InArg[sqlite3.Connection]
    task_details: OutArg[str]
    status: OutArg[str]
    steps: OutArg[list]

    def execute(self, ctx) -> None:
        self.task_details.value = f"task {self.task_id.value}"


@xai_component
class ExtractTaskDetails(Component):
    """Takes apart what is written as JSON."""

    input_json: InArg[str]
    task_id: OutArg[any]
    summary: OutArg[str]
    steps: OutArg[list]

    def execute(self, ctx) -> None:
        given = _object(self.input_json.value)
        self.task_id.value, self.summary.value = given.get("id", 1), given.get("summary", "none")
        self.steps.value = given.get("steps", [])


@xai_component
class GetEvents(Component):
    """Lists a day's events."""

    account: InArg[str]
    calendar: InArg[str]
    day: InArg[str]
    events: OutArg[list]

    def execute(self, ctx) -> None:
        self.events.value = [f"lunch on {self.day.value}"]


@xai_component
class CreateEvent(Component):
    """Notes an event down."""

    account: InArg[str]
    calendar: InArg[str]
    summary: InArg[str]
    start_time: InArg[any]
    participants: InArg[list]
    event_id: OutArg[str]


@xai_component
class ExtractEvent(Component):
    """Takes apart what is written as JSON."""

    json: InArg[str]
    summary: OutArg[str]
    start_time: OutArg[any]
    participants: OutArg[list]

    def execute(self, ctx) -> None:
        given = _object(self.json.value)
        self.summary.value = given.get("summary", "none")


@xai_component
class GetWeather(Component):
    """Tells the weather."""

    city: InArg[str]
    key: InArg[secret]
    url: InArg[str]
    report: OutArg[str]

    def execute(self, ctx) -> None:
        self.report.value = f"rain in {self.city.value}"


@xai_component
class RunPolicy(Component):
    """Moves a robot, for a while."""

    checkpoint: InArg[str]
    duration: InArg[int]
    hz: InArg[int]
    task: InArg[str]


@xai_component
class OpenPage(Component):
    """Opens a page."""

    url: InCompArg[str]
    headless: InArg[bool]
    page: OutArg[any]

    def execute(self, ctx) -> None:
        self.page.value = ctx["page"] = f"page of {self.url.value}"


@xai_component
class ReadPage(Component):
    """Reads a page."""

    page: InArg[any]
    hint: InArg[str]
    out_page: OutArg[any]
    text: OutArg[str]

    def execute(self, ctx) -> None:
        self.text.value = f"{self.page.value} for {self.hint.value}"


@xai_component
class WithTransaction(Component):
    """Does something in one go."""

    in_transaction: BaseComponent

    def execute(self, ctx) -> None:
        self.in_transaction.do(ctx)


def _object(text) -> dict:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
