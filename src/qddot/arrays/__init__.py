"""Arrays of other libraries as guests: Torch, JAX and whatever speaks DLPack, answered in their own kind.

Nothing here imports one of them unless an array of that library has come.
"""
