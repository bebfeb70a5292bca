"""Formats of text files, each read line by line."""
