"""The conversation loop: a model, the tools it is offered, and the events of each turn."""
