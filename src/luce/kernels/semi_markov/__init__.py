"""Kernels of semi-Markov models of time series."""
