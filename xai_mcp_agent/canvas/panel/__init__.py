"""Python side of the lab's panel: a question from it to an agent, and the run that answers it.

`chat` passes the question to the workflow's agent and keeps the conversation, `runs` runs the
workflow in the panel's kernel, `recorder` shows the panel what an agent does. Other events reach
the panel through `channel`, and questions to a person through `questions`. The JavaScript
is in packaging/labextension.
"""
