"""Graph algorithms on families of sets."""
