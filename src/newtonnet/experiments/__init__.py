"""Claims of the paper and their published numbers."""
