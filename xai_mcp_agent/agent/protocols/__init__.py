"""How a model without function calling is told of tools, and how its replies are parsed."""
