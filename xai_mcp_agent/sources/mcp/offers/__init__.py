"""What a server offers: its tools, resources and prompts, and how their changes are noticed."""
