"""Secrets: how they are found, and how they are redacted."""
