"""The command line as `python -m zeton`."""

from zeton.cli import main

if __name__ == "__main__":
    main(prog_name="zeton")
