"""Tables of the answers of the public interfaces, to compare later answers with.

`python -m tests.oracle` records all tables again, `--only NAME` one of them. A difference is either
a mistake or intended; then the new table belongs in the same commit.
"""
