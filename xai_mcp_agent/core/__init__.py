"""Values and rules that all other packages share. No I/O, no imports from other packages."""
