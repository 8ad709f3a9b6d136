"""Run the command with `python -m maskmeter`."""

from maskmeter.cli import main

if __name__ == "__main__":
    main()
