"""Whoever answers what servers ask: a person at a terminal or in the lab, or a program."""
