"""What passes between the SDK and a connection: watched, mended, counted."""
