"""Gibbs steps for PyMC, NumPyro and BlackJAX; each module needs the package it is named after."""
