"""The conversation loop: a model, the tools it is offered, and what happens turn by turn."""
