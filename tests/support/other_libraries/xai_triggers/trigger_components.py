"""What begins a flow from outside; here each happens once."""

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    SubGraphExecutor,
    xai_component,
)


@xai_component
class QueueConnect(Component):
    """Connects to a queue."""

    broker: InArg[str]
    port: InArg[int]
    username: InArg[str]
    password: InArg[str]
    vhost: InArg[str]


@xai_component
class QueueConsume(Component):
    """Says what is done with a message."""

    on_message: BaseComponent

    queue: InArg[str]
    message: OutArg[str]

    def execute(self, ctx) -> None:
        ctx["queue_consumer"] = self


@xai_component
class QueueStart(Component):
    """Takes a message."""

    def execute(self, ctx) -> None:
        ctx["queue_consumer"].message.value = "Do task 7."
        ctx["queue_consumer"].on_message.do(ctx)


@xai_component
class QueuePublish(Component):
    """Sends a message."""

    queue: InArg[str]
    message: InArg[str]


@xai_component(type="Start", color="red")
class IntervalJob(Component):
    """Begins what is done every so often."""

    job_id: InCompArg[str]
    seconds: InCompArg[int]

    def init(self, ctx) -> None:
        ctx.setdefault("interval_jobs", []).append(self)


@xai_component
class IntervalServe(Component):
    """Does it."""

    port: InArg[int]

    def execute(self, ctx) -> None:
        for job in ctx["interval_jobs"]:
            SubGraphExecutor(job.next).do(ctx)
