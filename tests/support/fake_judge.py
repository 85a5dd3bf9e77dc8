"""A judge without a model: a story says the scores that it gets, ``overall=8 fluency=3``; the others are 5."""

import json
import re

from storyalign.llm.rating_replies import SCORES

BLOCK = re.compile(r"\[story (\d+) begins (\w+)\]\n(.*?)\n\[story \1 ends \2\]", re.S)
SAYS = re.compile(r"(\w+)=([0-9.]+)")


def shown(request):
    """Give the stories of a request in the order in which the judge sees them."""
    return [story for _, _, story in BLOCK.findall(request["messages"][0]["content"])]


def rate(request):
    """Answer a request for ratings."""
    ratings = []
    for number, story in enumerate(shown(request), start=1):
        said = {name: float(value) for name, value in SAYS.findall(story)}
        ratings.append({"story": number, **{name: said.get(name, 5) for name in SCORES}})
    return json.dumps({"ratings": ratings})
