"""The command line as `python -m jeton`."""

from jeton.cli import main

if __name__ == "__main__":
    main(prog_name="jeton")
