"""What agents may call: decisions of people, approvals and rules."""
