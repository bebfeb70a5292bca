"""Questions put to draws: ranks, shares, predictions, diagnostics, summaries."""
