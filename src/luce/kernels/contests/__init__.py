"""Contests of two sides, with ties and a home advantage: sums over sides, sweeps and slopes."""
