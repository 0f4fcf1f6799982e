"""Nodes that let an agent decide which part of a workflow handles a request."""

from xai_components.base import (
    Component,
    InArg,
    InCompArg,
    OutArg,
    SubGraphExecutor,
    xai_component,
)

from xai_mcp_agent import canvas


@xai_component(type="Start", color="rgb(5, 22, 104)")
class AgentDefineRoute(Component):
    """Starts a route: the nodes after it run when AgentRouter chooses it.

    It is a start of its own: nothing flows into it.

    ##### inPorts:
    - agent_flow_name (str): The route's name, such as `billing`.
    - description (str): Tells the model which requests belong here. Be exact.

    ##### outPorts:
    - conversation (any): The conversation that was routed; wire it to AgentRun.

    ##### Example:
    agent_flow_name `billing`, description `Questions about invoices and payments.`, then an
    AgentRun whose conversation is wired from here.
    """

    agent_flow_name: InCompArg[str]
    description: InCompArg[str]

    conversation: OutArg[any]

    def init(self, ctx):
        canvas.define_route(
            ctx, self.agent_flow_name.value, self.description.value, self.run_route_nodes
        )

    def run_route_nodes(self, ctx, conversation):
        """Run the chain after this node once."""
        self.conversation.value = conversation
        if self.next is not None:
            SubGraphExecutor(self.next).do(ctx)

    def execute(self, ctx) -> None:
        pass


@xai_component(color="rgb(5, 22, 104)")
class AgentRouter(Component):
    """Lets an agent's model choose the route that fits a request, and runs that route.

    The model is asked once more where it names none.

    ##### inPorts:
    - question (str): The request. The route gets it as its conversation. Default: what conversation
      has.
    - conversation (any): What was said before, as in AgentRun; without a question it is the
      request. Default: none.
    - agent_name (str): The agent whose model decides. Default: the one that was set up last.
    - final_context_key (str): Where a route may leave its result in `ctx`.
      Default: `agent_flow_result`.

    ##### outPorts:
    - result (any): What the route came to: what it left in `ctx`, what an AgentToolOutput at its
      end was given, or the answer of its last AgentRun.
    - chosen_flow_name (str): The route that was chosen.

    ##### Example:
    Two AgentDefineRoute chains, `billing` and `repairs`, and this node with the question
    `My invoice is wrong.`
    """

    question: InArg[str]
    conversation: InArg[any]
    agent_name: InArg[str]
    final_context_key: InArg[str]

    result: OutArg[any]
    chosen_flow_name: OutArg[str]

    def execute(self, ctx) -> None:
        chosen = canvas.follow_route(
            ctx,
            self.agent_name.value,
            self.conversation.value,
            self.final_context_key.value,
            self.question.value,
        )
        self.chosen_flow_name.value, self.result.value = chosen
