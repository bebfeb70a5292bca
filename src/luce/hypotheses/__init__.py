"""Hypotheses, Bayes factors and likelihood-ratio tests."""
