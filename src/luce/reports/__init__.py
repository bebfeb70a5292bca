"""One HTML page about a run."""
