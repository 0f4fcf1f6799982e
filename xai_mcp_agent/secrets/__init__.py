"""Secrets: finding and masking them, and files that only their owner can read."""
