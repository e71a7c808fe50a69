"""Small deviations from a motion: A and B, exactly; sampled systems, optimal feedback, equilibria."""
