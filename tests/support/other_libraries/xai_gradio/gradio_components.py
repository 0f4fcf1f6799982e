"""A chat in which somebody says one thing."""

from xai_components.base import BaseComponent, Component, InArg, OutArg, xai_component


class gr:
    """The module whose class is a port's type."""

    class Blocks:
        """What is launched."""

        chat = None


@xai_component(type="branch")
class GradioChatInterface(Component):
    """Makes the page."""

    fn: BaseComponent

    interface: OutArg[gr.Blocks]
    message: OutArg[str]
    history: OutArg[list]

    def execute(self, ctx) -> None:
        self.interface.value = gr.Blocks()
        self.interface.value.chat = self

    def talk(self, ctx) -> None:
        self.message.value, self.history.value = "How is it outside?", []
        self.fn.do(ctx)


@xai_component
class GradioLaunch(Component):
    """Shows the page."""

    app: InArg[gr.Blocks]

    def execute(self, ctx) -> None:
        self.app.value.chat.talk(ctx)


@xai_component
class GradioChatFnReturn(Component):
    """Ends a turn."""

    history: InArg[list]
    llm_response: InArg[str]
    message: InArg[str]
    log_file: InArg[str]

    def execute(self, ctx) -> None:
        print("Said:", self.llm_response.value)


@xai_component
class DeepCopy(Component):
    """Copies."""

    data: InArg[any]
    copied_data: OutArg[any]

    def execute(self, ctx) -> None:
        self.copied_data.value = list(self.data.value)
