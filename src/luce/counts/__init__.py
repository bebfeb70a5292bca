"""The data algebra: labels, families of sets, and conditional counts."""
