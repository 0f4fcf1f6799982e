"""References from one call to the results of others: as values, as text, and filled in."""
