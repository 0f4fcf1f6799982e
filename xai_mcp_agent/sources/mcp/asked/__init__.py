"""What a server asks of its client, answered by the host of the call."""
