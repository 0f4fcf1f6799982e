"""Plans of which every call is surely asked for, for who makes the calls without asking anybody.

A request is a turn of a conversation (`situation`). Each of its parts gets a tool that the words
surely mean, or none (`matching`, `careful`), or a search for one (`searching`); what a part only
names is looked up first (`lookup`). `calls` has these steps as the calls of a plan.
"""
