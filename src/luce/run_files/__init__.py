"""Runs as files: what is stored, in which formats, and how damage is found."""
