"""Compilation: a model's algorithms become an expression graph, and the graph becomes machine code, or code of another language."""
