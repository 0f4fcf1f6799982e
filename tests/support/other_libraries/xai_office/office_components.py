"""Nodes behind drawn tools: they take what the model said and make up an answer."""

import json

from xai_components.base import BaseComponent, Component, InArg, OutArg, secret, xai_component


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
        event = _object(self.json.value)
        self.summary.value = event.get("summary", "none")


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
class WithTransaction(Component):
    """Does something in one go."""

    in_transaction: BaseComponent

    def execute(self, ctx) -> None:
        self.in_transaction.do(ctx)


def _object(text) -> dict:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
