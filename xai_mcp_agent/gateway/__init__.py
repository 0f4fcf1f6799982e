"""All that a bridge has, served to other programs."""
