"""Where registries are read from: each page of one, as documents."""
