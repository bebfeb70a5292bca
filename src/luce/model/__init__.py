"""What the posterior is: counts, a prior, their structure and density."""
