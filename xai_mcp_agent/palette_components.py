"""All nodes, in the order in which they are learned.

In an installed package they stand in this file, one below the other as named here, and the other
files take them from it: Xircuits shows nodes in the order of its files, which is that of the file
system and no other, and within a file in that of its lines. See packaging/build_hook.py.
"""

from .agent_components import (
    AgentApprove,
    AgentInit,
    AgentLearn,
    AgentMergeSystem,
    AgentModel,
    AgentRun,
    AgentRunTool,
    AgentStreamStringResponse,
    AgentUpdate,
)
from .catalog_components import (
    MCPAcceptTool,
    MCPEnableTool,
    MCPRefreshTools,
    MCPToolHistory,
    MCPToolStatus,
)
from .mcp_components import (
    MCPCallTool,
    MCPCloseServer,
    MCPGetPrompt,
    MCPListPrompts,
    MCPListResources,
    MCPListTools,
    MCPReadResource,
    MCPServerStatus,
    MCPToolStep,
)
from .memory_components import AgentNumpyMemory, AgentVectoMemory
from .planning_components import (
    MCPCheckWires,
    MCPExplainChoice,
    MCPPlan,
    MCPRunPlan,
    MCPSuggestTools,
)
from .routing_components import AgentDefineRoute, AgentRouter
from .search_components import (
    AgentAlwaysShowTools,
    AgentPreferTools,
    AgentSelectionReport,
    MCPExplainTool,
    MCPSearchTools,
)
from .toolbelt_components import (
    AgentDefineTool,
    AgentMakeToolbelt,
    AgentToolOutput,
    AgentUseAgents,
    AgentUseBuiltinTools,
    AgentUseFunctions,
    AgentUseMCPTools,
    AgentUseOpenAPI,
    AgentUseTools,
    AgentUseWorkflow,
)

__all__ = [  # noqa: RUF022 - the order is what it is for
    # The first agent.
    "AgentUseMCPTools",
    "AgentMakeToolbelt",
    "AgentInit",
    "AgentRun",
    "AgentModel",
    # Tools of one's own, and of everything else.
    "AgentDefineTool",
    "AgentToolOutput",
    "AgentUseFunctions",
    "AgentUseBuiltinTools",
    "AgentUseTools",
    "AgentUseOpenAPI",
    "AgentUseWorkflow",
    "AgentUseAgents",
    # What an agent remembers, and several of them.
    "AgentNumpyMemory",
    "AgentVectoMemory",
    "AgentLearn",
    "AgentDefineRoute",
    "AgentRouter",
    "AgentUpdate",
    "AgentMergeSystem",
    "AgentApprove",
    "AgentStreamStringResponse",
    "AgentRunTool",
    # Servers without a model.
    "MCPListTools",
    "MCPCallTool",
    "MCPToolStep",
    "MCPListResources",
    "MCPReadResource",
    "MCPListPrompts",
    "MCPGetPrompt",
    "MCPServerStatus",
    "MCPCloseServer",
    # Many tools: which are found, which fit together, what became of them.
    "MCPSearchTools",
    "MCPExplainTool",
    "AgentAlwaysShowTools",
    "AgentPreferTools",
    "AgentSelectionReport",
    "MCPPlan",
    "MCPRunPlan",
    "MCPSuggestTools",
    "MCPCheckWires",
    "MCPExplainChoice",
    "MCPToolHistory",
    "MCPToolStatus",
    "MCPRefreshTools",
    "MCPEnableTool",
    "MCPAcceptTool",
]
