"""Every fault of a server that we thought of, provoked for real, beside a healthy server."""
