"""From a polynomial to what a person reads: text, LaTeX, MathML, program code, SymPy."""
