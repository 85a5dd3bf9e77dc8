"""``python -m storyalign``, and with it ``accelerate launch -m storyalign``: the command line."""

from storyalign.cli.main import run

if __name__ == "__main__":
    run()
