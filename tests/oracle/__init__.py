"""Tables of what the public faces answer, recorded once and compared with every later answer.

`python -m tests.oracle` records all tables anew, `--only NAME` one of them. A difference is either
a mistake, or a change that is meant: then the new table belongs into the same commit.
"""
