"""The append-only log: what happened to every tool and source, when, and why."""
