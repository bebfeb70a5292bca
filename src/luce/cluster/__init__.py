"""Beyond one machine, on Dask: chains over workers, and terms over workers."""
