"""Checks of a fit: concerns about its parameters, other explanations of the log, and the verdict."""
