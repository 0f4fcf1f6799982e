"""Which of the available tools a request to a model shows."""
