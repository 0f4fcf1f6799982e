"""The Python side of the lab's panel: a question from it to an agent, and the run that answers it.

`chat` gives the question to the workflow's agent and keeps the conversation, `runs` runs the
workflow in the panel's kernel, `recorder` shows the panel what an agent does. What else happens
reaches the panel by `lab_channel`, and what a person is asked by `lab_questions`. The JavaScript is
in packaging/labextension.
"""
