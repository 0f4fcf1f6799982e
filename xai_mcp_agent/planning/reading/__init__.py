"""What a request says: its parts, the values it states, and which parameters of a tool these fill.

A text is read into words (`words`, `vocabulary`) and values (`mentions`, `dates`, `places`), and
cut into parts that each ask for one thing (`parts`). A tool is read from its name, description and
schema (`tools`, `parameters`); its arguments are filled from a part (`arguments`, `candidates`,
`named`, `leftover`). What values say about the tool that is meant is in `hints`.
"""
