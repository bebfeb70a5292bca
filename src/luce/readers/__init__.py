"""Readers: data as people have it, turned into conditional counts."""
