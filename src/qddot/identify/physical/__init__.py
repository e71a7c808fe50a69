"""Parameters that a real robot can have, and a robot that has them."""
