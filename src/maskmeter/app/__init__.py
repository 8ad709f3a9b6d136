"""The page in a browser: the workbench behind it, and what it shows."""
