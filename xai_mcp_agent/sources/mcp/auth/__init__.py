"""OAuth access to servers behind a URL: sign-in, tokens and their storage."""
