"""A copy of the node that gives a key to others."""

from xai_components.base import Component, InArg, secret, xai_component


@xai_component
class OpenAIAuthorize(Component):
    """Unlocks OpenAI for the nodes of this library."""

    organization: InArg[str]
    base_url: InArg[str]
    api_key: InArg[secret]
    from_env: InArg[bool]
