"""Drivers: one file for each client, run in that client's own environment."""
