"""The HTML builder: words, tables and documents in one self-contained page."""
