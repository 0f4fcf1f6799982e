"""Plain typed Python functions of a file as tools."""
