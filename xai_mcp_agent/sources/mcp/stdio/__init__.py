"""A server as a child process: what passes over its pipes, and that it ends with us."""
