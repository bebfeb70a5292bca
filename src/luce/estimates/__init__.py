"""Modes, curvature, maximum likelihood and evidence."""
