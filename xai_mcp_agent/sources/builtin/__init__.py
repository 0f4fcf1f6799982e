"""Tools of our own that are worth having everywhere, off unless somebody names them."""
