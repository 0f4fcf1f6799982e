"""From the operations of a document to tools and their request plans."""
