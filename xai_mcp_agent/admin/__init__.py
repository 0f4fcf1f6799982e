"""REST interface of a bridge, its page, and its proxy in the lab."""
