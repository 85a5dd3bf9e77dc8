"""StoryAlign kit: build, load, score, train on, explore and release story-preference data.

Importing the package is cheap: torch, transformers, gradio and datasets load only with the verbs that need them.
"""

from storyalign._version import __version__

__all__ = ["__version__"]
