"""A chat server that nobody reaches: each agent hears one message, and what it says is printed."""

from xai_components.base import Component, InArg, InCompArg, OutArg, SubGraphExecutor, xai_component


@xai_component
class ConverseMakeServer(Component):
    """Makes the server."""

    secret_key: InArg[str]
    auth_token: InArg[str]
    max_timeout: InArg[int]


@xai_component(type="Start", color="red")
class ConverseDefineAgent(Component):
    """Begins what is done with a message."""

    name: InCompArg[str]

    message: OutArg[str]
    conversation: OutArg[list]

    def init(self, ctx) -> None:
        ctx.setdefault("converse_agents", []).append(self)


@xai_component
class ConverseRun(Component):
    """Hands each agent a message."""

    debug_mode: InArg[bool]

    def execute(self, ctx) -> None:
        for agent in ctx["converse_agents"]:
            agent.message.value = "What is new?"
            agent.conversation.value = [{"role": "user", "content": agent.message.value}]
            SubGraphExecutor(agent.next).do(ctx)


@xai_component
class ConverseEmitResponse(Component):
    """Says something."""

    value: InArg[any]

    def execute(self, ctx) -> None:
        print("Said:", self.value.value)
