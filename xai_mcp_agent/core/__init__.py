"""Values and rules that everything else shares. No I/O, and imports nothing of ours."""
