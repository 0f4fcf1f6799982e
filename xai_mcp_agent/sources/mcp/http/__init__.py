"""A server behind a URL: each request and answer, and what is noticed about them."""
