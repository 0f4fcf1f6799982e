"""Nodes for what is known of tools, and for what you decide about them."""

from xai_components.base import Component, InArg, InCompArg, OutArg, xai_component

from xai_mcp_agent import bridge


@xai_component(color="rgb(0, 96, 128)")
class MCPEnableTool(Component):
    """Switches a tool off for all agents, or on again. It stays so until you decide otherwise.

    An agent that asks for it is told that a person switched it off. MCPCallTool still calls it.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`; `canvas` for
      a tool that you draw.
    - tool_name (str): The tool, by the server's own name for it.
    - enabled (bool): False: no agent is offered it. Default: True.

    ##### outPorts:
    - summary (str): What came of it, to read.

    ##### Example:
    server_name `library`, tool_name `lend_book`, enabled False, before AgentRun.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]
    enabled: InArg[bool]

    summary: OutArg[str]

    def execute(self, ctx) -> None:
        self.summary.value = bridge.decisions.enable_tool(
            ctx, self.server_name.value, self.tool_name.value, self.enabled.value
        )


@xai_component(color="rgb(0, 96, 128)")
class MCPAcceptTool(Component):
    """Accepts what a server says of a tool now. Pinned tools are called only while it stays so.

    Run it once, when you have read what changed: a workflow that always runs it accepts anything.
    Tools are pinned by `"pin": true` of their server in the settings, or by AgentMakeToolbelt.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool, by the server's own name for it.

    ##### outPorts:
    - changes (list): A line for each thing that is different from what was accepted before.
    - summary (str): What came of it, to read.

    ##### Example:
    server_name `library`, tool_name `lend_book`, and summary wired to a Print node.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]

    changes: OutArg[list]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        accepted = bridge.decisions.accept_tool(ctx, self.server_name.value, self.tool_name.value)
        self.changes.value, self.summary.value = accepted
