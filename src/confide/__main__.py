"""`python -m confide` is the `confide` command."""

from confide.cli.main import run

if __name__ == "__main__":
    run()
