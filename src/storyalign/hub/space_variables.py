"""Variables of a Space: which model it loads."""

from __future__ import annotations

from collections.abc import Mapping

from storyalign.hub.hub_errors import hub_errors


def set_space_variables(repo: str, wanted: Mapping[str, str]) -> bool:
    """Set variables that have another value; a Space restarts only if one was set.

    Args:
        repo: ``ORG/NAME`` of the Space.
        wanted: name -> value.

    Returns:
        Whether anything was set.

    Raises:
        HubError: the Hub refused.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with hub_errors(repo):
        there = {name: variable.value for name, variable in api.get_space_variables(repo).items()}
        changed = {name: value for name, value in wanted.items() if there.get(name) != value}
        for name, value in changed.items():
            api.add_space_variable(repo, name, value)
    return bool(changed)
