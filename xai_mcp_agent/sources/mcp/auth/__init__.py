"""Access to a server behind a URL that asks for it (OAuth): signing in, tokens, where they are."""
