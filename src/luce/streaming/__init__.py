"""Runs larger than memory: draws go to a disk as they are made, and a killed run goes on."""
