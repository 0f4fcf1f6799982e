"""Messages between the SDK and a transport: watched, sanitized, counted."""
