"""The options that say how models and judges score: of every verb, in the same words, as one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from storyalign.errors import RecipeError
from storyalign.scoring.options import ScoringOptions

DEMO_MODEL = Path("runs") / "demo" / "model"

_DECLARED: dict[str, Any] = {
    "dtype": Annotated[str, typer.Option(help="Precision of a model that scores: fp32 or bf16.")],
    "max_length": Annotated[
        int | None,
        typer.Option(
            min=1, help="Most tokens of a story with its premise; by default what the scoring model can read."
        ),
    ],
    "truncate": Annotated[
        str | None,
        typer.Option(help="Keep this part of over-long stories: head, tail or middle; without it they are refused."),
    ],
    "batch_tokens": Annotated[int | None, typer.Option(min=1, help="Tokens of one forward pass; changes no reward.")],
    "revision": Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")],
    "trust_remote_code": Annotated[
        bool, typer.Option("--trust-remote-code", help="Run the model's own code; on the Hub needs --revision COMMIT.")
    ],
    "mode": Annotated[str | None, typer.Option(help="Judges: rate, criteria, choose or pairwise (docs/scorers.md).")],
    "max_cost": Annotated[
        float | None, typer.Option(min=0, help="Most US dollars for each judge, and for a writer where one writes.")
    ],
    "yes": Annotated[bool, typer.Option("--yes", help="Spend what the estimates say, without a limit.")],
}


def with_scoring_options(verb: Callable[..., None], *names: str) -> Callable[..., None]:
    """Return a verb as typer shall see it: one command line option per field in the place of its ``options``.

    Args:
        verb: takes ``options``, a ``ScoringOptions``.
        names: the fields that it offers; all of them by default.
    """
    defaults = {field.name: field.default for field in fields(ScoringOptions)}
    own = [p for p in inspect.signature(verb, eval_str=True).parameters.values() if p.name != "options"]
    asked = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=_DECLARED[name])
        for name in names or _DECLARED
    ]

    def called(**given: Any) -> None:
        options = ScoringOptions(**{option.name: given.pop(option.name) for option in asked})
        verb(**given, options=options)

    called.__signature__ = inspect.Signature([*own, *asked])  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *asked)}
    return called


def model_or_demo(model: str | None) -> str:
    """Return the model that the user named, else the demo's where it stands.

    Raises:
        RecipeError: none is named, and the demo has not run here.
    """
    if model is not None:
        return model
    if not (DEMO_MODEL / "config.json").is_file():
        raise RecipeError(
            f"no model is named, and {DEMO_MODEL} is missing; name one, or run `storyalign demo` here first"
        )
    return str(DEMO_MODEL)
