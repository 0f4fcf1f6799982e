"""Sources of tools. A source reports to the observer that it gets, and imports no catalog."""
