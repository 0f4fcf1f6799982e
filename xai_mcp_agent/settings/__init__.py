"""From a settings file and the environment to values, with the secrets kept apart."""
