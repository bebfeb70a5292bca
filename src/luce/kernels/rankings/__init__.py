"""Rankings with ties: sweeps over tied blocks of unknown order, and slopes of Davidson-Luce."""
