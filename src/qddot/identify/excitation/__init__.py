"""Motions that show the parameters best."""
