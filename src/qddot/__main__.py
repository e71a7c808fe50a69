"""`python -m qddot`: the command line."""

from qddot.cli import main

if __name__ == "__main__":
    main(prog_name="qddot")
