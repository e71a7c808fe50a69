"""Linearisation about a state: exact A and B, sampled systems, optimal feedback, equilibria."""
