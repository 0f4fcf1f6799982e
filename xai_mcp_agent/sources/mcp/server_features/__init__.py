"""What a server tells by itself: its tools, listed again after each change, and subscriptions."""
