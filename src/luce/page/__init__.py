"""Build self-contained HTML pages: `words` for inline text, `tables`, and the whole `document`."""
