"""What the nodes of a canvas do: one file for each kind of them."""
