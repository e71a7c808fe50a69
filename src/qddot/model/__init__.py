"""Model of a robot: immutable, validated, no algorithms."""
