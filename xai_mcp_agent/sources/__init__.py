"""Where tools come from. A source reports to an observer it is handed; it imports no catalog."""
