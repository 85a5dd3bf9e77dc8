"""The chat endpoint that the operator named in ``STORYALIGN_ENDPOINT``: it writes stories, and may judge them."""

from __future__ import annotations

from collections.abc import Mapping

from storyalign.llm.endpoint import Endpoint


def operator_endpoint(
    settings: Mapping[str, str], *, temperature: float, max_tokens: int, tries: int
) -> Endpoint | None:
    """Make the endpoint, or None where the operator named none.

    Args:
        settings: environment variables: ``STORYALIGN_ENDPOINT`` (the API root), ``STORYALIGN_ENDPOINT_MODEL``,
            ``STORYALIGN_ENDPOINT_KEY`` (a secret; may be missing).
        temperature: how freely it answers.
        max_tokens: the bound of a reply.
        tries: for one call.

    Raises:
        RecipeError: the address or the model is missing or wrong.
    """
    url = settings.get("STORYALIGN_ENDPOINT", "").strip()
    if not url:
        return None
    return Endpoint.from_recipe(
        "STORYALIGN_ENDPOINT",
        {
            "url": url,
            "model": settings.get("STORYALIGN_ENDPOINT_MODEL", "").strip(),
            "key_variable": "STORYALIGN_ENDPOINT_KEY" if settings.get("STORYALIGN_ENDPOINT_KEY") else None,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "max_concurrency": 4,
            "tries": tries,
        },
    )


def hourly(settings: Mapping[str, str], variable: str, default: int) -> int:
    """Read how many stories an hour an endpoint may be asked about; ``default`` where the variable is no number."""
    value = settings.get(variable, "").strip()
    return int(value) if value.isdigit() else default
