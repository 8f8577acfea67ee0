"""The rack server's commands."""
