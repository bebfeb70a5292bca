"""Results: runs in memory and on disk, saved, loaded and resumed."""
