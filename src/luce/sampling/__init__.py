"""Drawing from a posterior: settings, methods, plans, chains, convergence."""
