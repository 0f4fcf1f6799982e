"""A document of a service, and the files that it refers to."""
