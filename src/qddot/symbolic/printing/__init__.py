"""Closed forms as text, LaTeX, MathML, program code and SymPy expressions."""
