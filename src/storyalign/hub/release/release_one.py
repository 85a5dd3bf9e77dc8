"""A release of one folder: make it ready, check it, publish it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from storyalign._version import __version__
from storyalign.errors import RecipeError
from storyalign.hub.cards.card_lint import require_clean_card
from storyalign.hub.hub_errors import HubUnreachableError, hub_errors
from storyalign.hub.payload import REPO_TYPES, Kind, Payload
from storyalign.hub.release.people import find_personal_data, require_review
from storyalign.hub.release.publish import Changes, Published, plan, publish, released_as, remote_files
from storyalign.hub.release.release_options import ReleaseOptions
from storyalign.hub.release.secret_scan import refuse_secrets

SHOWN = 20
"""Findings of the scan for personal data that are listed one by one."""


def prepare(kind: Kind, folder: Path, repo: str, work: Path, options: ReleaseOptions) -> Payload:
    """Make a folder ready for its repository and check it; nothing is sent.

    Args:
        kind: dataset, metric, space or model.
        folder: what to release.
        repo: ``ORG/NAME``.
        work: an empty folder for what is written on the way; it must live until the payload is published.
        options: the releaser's decisions.

    Raises:
        RecipeError: ``repo`` is not ORG/NAME.
        DataError: something in the folder may not be released, or its card is not whole.
    """
    if repo.count("/") != 1 or not all(repo.split("/")):
        raise RecipeError(f"--repo {repo}: write ORG/NAME, your user name or organisation first")
    payload = _collected(kind, folder, repo, work, options)
    check(payload)
    findings = list(find_personal_data(payload))
    for finding in findings[:SHOWN]:
        options.say(f"  {finding.kind}: {finding.excerpt!r} in {finding.place}")
    if len(findings) > SHOWN:
        options.say(f"  ... and {len(findings) - SHOWN} more")
    if not options.personal_data_reviewed:
        require_review(payload, findings)
    return payload


def check(payload: Payload) -> None:
    """Check the card, and look for keys.

    Raises:
        DataError: says what is wrong.
    """
    from huggingface_hub import get_token

    require_clean_card(payload)
    refuse_secrets(payload, get_token())


def _collected(kind: Kind, folder: Path, repo: str, work: Path, options: ReleaseOptions) -> Payload:
    if kind == "dataset":
        from storyalign.hub.release.dataset_release import prepare_dataset

        return prepare_dataset(folder, repo, work, options)
    if kind == "model":
        from storyalign.hub.release.model_release import prepare_model

        return prepare_model(folder, repo, options)
    from storyalign.hub.release.space_release import prepare_metric, prepare_space

    return prepare_metric(folder, repo) if kind == "metric" else prepare_space(folder, repo)


def release(
    payload: Payload, repo: str, *, private: bool = False, pull_request: bool = False, tag: str | None = None
) -> Published:
    """Publish a payload that was prepared.

    Raises:
        HubError: there is no token, or the Hub refused.
    """
    require_token(repo)
    message = f"Release {tag or payload.digest[:12]} with StoryAlign kit {__version__}"
    return publish(payload, repo, private=private, pull_request=pull_request, tag=tag, message=message)


def told(done: Published) -> str:
    """Return in one line what a release did."""
    if done.pull_request:
        return f"proposed: {done.pull_request}"
    tag = f"tag {done.tag}" if done.tag else ""
    if done.changed:
        return f"released: {done.repo} at {done.sha} ({len(done.changed)} files changed{tag and f', {tag}'})"
    return f"unchanged: {done.repo} at {done.sha} holds these files already{tag and f'; {tag}'}"


def require_token(repo: str) -> None:
    """Check that there is a token, and that the Hub knows it.

    Raises:
        HubError: there is none, it is wrong, or the Hub cannot be reached.
    """
    from huggingface_hub import HfApi, get_token

    from storyalign.errors import HubError

    if not get_token():
        raise HubError(f"{repo}: no token; log in with `hf auth login`, or set HF_TOKEN to one that may write there")
    with hub_errors(repo):
        HfApi().whoami()


class Preview(NamedTuple):
    """What a release of one repository would do."""

    repo: str
    payload: Payload
    head: str | None
    """The commit that a release starts from, or the one that holds it already; None where no repository is seen."""
    changes: Changes
    unseen: str | None = None
    """Why the repository could not be looked at."""


def dry_run(payload: Payload, repo: str, tag: str | None = None) -> Preview:
    """Return what a release would change, as far as the Hub can be reached; needs no token and changes nothing.

    Raises:
        HubError: the tag marks other files already.
    """
    try:
        return preview(payload, repo, tag)
    except HubUnreachableError as error:
        return Preview(repo, payload, None, Changes(tuple(payload.files), ()), str(error))


def preview(payload: Payload, repo: str, tag: str | None = None) -> Preview:
    """Return what a release would change, without a token and without changing anything.

    Raises:
        HubError: the tag marks other files already, or the Hub cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    api, kind = HfApi(), REPO_TYPES[payload.kind]
    with hub_errors(repo):
        try:
            head = str(api.repo_info(repo, repo_type=kind).sha)
        except RepositoryNotFoundError:
            return Preview(repo, payload, None, Changes(tuple(payload.files), ()))
        if tag is not None and (tagged := released_as(api, payload, repo, tag)):
            return Preview(repo, payload, tagged, Changes((), ()))
        return Preview(repo, payload, head, plan(payload, remote_files(api, repo, kind, head)))
