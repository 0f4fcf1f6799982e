"""A node that a user of xai-agent put into its folder."""

from xai_components.base import Component, InArg, OutArg, xai_component


@xai_component
class CutAnswer(Component):
    """Takes what stands in the answer's marks."""

    input_text: InArg[str]
    response_text: OutArg[str]

    def execute(self, ctx) -> None:
        text = self.input_text.value or ""
        self.response_text.value = text.partition("<response>")[2].partition("</")[0] or text
