"""The offline model: fixed rules in place of a language model, for a first run without any key.

`model.py` is the model. A request is read (`conversation`, and `planning.reading` for its words and
values), tools are chosen or searched for (`matching`, `finding`), what is only named is looked up
(`lookup`), steps are joined (`plan`, `progress`, `results`), and the person answered (`answer`,
`guide`).
"""
