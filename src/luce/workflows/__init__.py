"""Many posteriors at once, raw logs, and sensitivity to the prior."""
