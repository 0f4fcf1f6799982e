"""What begins a flow from outside; here each happens once."""

from xai_components.base import Component, InArg, InCompArg, SubGraphExecutor, xai_component


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
