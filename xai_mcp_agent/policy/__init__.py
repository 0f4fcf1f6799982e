"""What may be called: decisions of people, and where approvals and rules are asked."""
