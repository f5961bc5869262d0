"""The commands: a file each, which parses its options, calls the package and prints."""
