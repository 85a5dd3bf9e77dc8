"""StoryAlign kit: datasets, metric, reward models and releases for story preferences.

Importing the package is cheap: torch, transformers, gradio and datasets load only with the verbs that need them.
"""

from storyalign._version import __version__

__all__ = ["__version__"]
