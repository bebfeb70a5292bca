"""The posterior as mathematics: counts, a prior, their structure and density."""
