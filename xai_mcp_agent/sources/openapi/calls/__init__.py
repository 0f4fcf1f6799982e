"""Sending requests to a service, within limits, and what its answers become."""
