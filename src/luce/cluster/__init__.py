"""Drawing on Dask workers: chains as tasks, and terms of one posterior held by workers."""
