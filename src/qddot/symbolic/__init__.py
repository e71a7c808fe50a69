"""Exact closed forms: a canonical ring, the equations over it, their derivation, and what follows from them."""
