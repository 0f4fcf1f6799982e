"""The offline model: fixed rules in place of a language model, for a first run without any key.

`model.py` is the model. A request is read (`conversation`, `parts`, `mentions`, `dates`, `places`,
`words`, `vocabulary`), tools are chosen or searched for (`matching`, `hints`, `parameters`,
`finding`), their arguments filled (`arguments`, `candidates`, `named`, `leftover`, `lookup`), steps
joined (`plan`, `progress`, `results`), and the person answered (`answer`, `guide`).
"""
