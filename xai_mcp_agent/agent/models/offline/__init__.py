"""The offline model: fixed rules in place of a language model, for a first run without any key.

`model.py` is the model. A conversation is read (`conversation`, `finding`), a planner of the tools
that are offered (`planners`) says which calls its last request asks for, these are made as far as
results say what they need (`progress`, `results`), and the person is answered (`answer`, `guide`).
"""
