"""What a robot is: immutable, validated, no algorithms."""
