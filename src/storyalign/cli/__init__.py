"""The command line: the only floor that parses arguments, opens files named by the user, and prints."""
