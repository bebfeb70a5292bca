"""How a posterior is drawn: settings, methods, plans, chains."""
