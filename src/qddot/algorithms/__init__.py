"""The equations of motion, one algorithm a file, each a page of Featherstone's *Rigid Body Dynamics Algorithms* (2008).

Every function takes `model`, a `LiftedModel`: bodies in order (parents first), their constants already scalars of one kind;
and `q`, `qd`, ... as sequences of scalars of that kind. Nothing here branches on a scalar, so the same text runs over floats,
records an expression graph, or computes exact polynomials.

Shared notation: `X[i]` is the pose of body i in its parent, `X0[i]` in the world; `v, a, f` are spatial velocity, acceleration
and force; `body.subspace` pairs each column of qd with the motion it causes (S); WORLD is the parent of a root body.
"""
