"""Compiled parts of the hidden semi-Markov model: messages, segments, durations, emissions."""
