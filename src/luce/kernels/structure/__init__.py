"""Graph algorithms on families of sets: atoms, overlap classes, modules, and transport."""
