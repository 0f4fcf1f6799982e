"""Settings: a file and the environment as values, with the secrets kept apart."""
