"""Arrays of other libraries (guests): PyTorch, JAX and any library with DLPack. Results are arrays of the same library.

Nothing here imports such a library before one of its arrays is given.
"""
