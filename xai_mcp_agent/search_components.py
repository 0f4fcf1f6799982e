"""Nodes for agents and servers with many tools: which are shown, which are found."""

from xai_components.base import Component, InArg, InCompArg, xai_component

from xai_mcp_agent import canvas


@xai_component(color="rgb(176, 48, 96)")
class AgentPinTools(Component):
    """Shows tools of a toolbelt in every request to the model, however many others there are.

    With more tools than fit into a request, an agent is shown those that it finds. Pin what it
    needs again and again; tools that you draw are always shown. Put it before AgentMakeToolbelt.

    ##### inPorts:
    - tools (any): What to show, as a text with commas or a list: a tool (`search_books`), a server
      (`library`), a tool of a server (`library/search_books`) or a group of the settings. `*`
      stands for any text.
    - toolbelt_name (str): The toolbelt it is about. Default: `default`.

    ##### Example:
    tools `search_books, calendar/*`, before AgentMakeToolbelt.
    """

    tools: InCompArg[any]
    toolbelt_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.pin_tools(ctx, self.toolbelt_name.value, self.tools.value)


@xai_component(color="rgb(176, 48, 96)")
class AgentPreferTools(Component):
    """Says which tools of a toolbelt an agent should trust, and which it must not use.

    Trusted tools come before others that fit as well when the agent looks for one. Blocked ones
    are not shown, found or called. Put it before AgentMakeToolbelt.

    ##### inPorts:
    - trusted (any): Names as in AgentPinTools: a text with commas or a list. Default: none.
    - blocked (any): The same for what the agent must not use. Drawn tools are never blocked.
      Default: none.
    - toolbelt_name (str): The toolbelt it is about. Default: `default`.

    ##### Example:
    trusted `library`, blocked `files/delete_*, shell`, before AgentMakeToolbelt.
    """

    trusted: InArg[any]
    blocked: InArg[any]
    toolbelt_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.prefer_tools(ctx, self.toolbelt_name.value, self.trusted.value, self.blocked.value)
