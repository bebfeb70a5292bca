"""Simulation-based calibration of a design."""
