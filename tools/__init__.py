"""Tools of the project: they build documentation, examples and pictures, and trace walks."""
