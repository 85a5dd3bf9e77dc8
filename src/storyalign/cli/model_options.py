"""The options that say how models and judges score, in the same words for every verb that takes them."""

from __future__ import annotations

from typing import Annotated

import typer

Precision = Annotated[str, typer.Option(help="Precision of a model that scores: fp32 or bf16.")]
MaxLength = Annotated[
    int | None,
    typer.Option(min=1, help="Most tokens of a story with its premise; by default what the scoring model can read."),
]
Truncate = Annotated[
    str | None,
    typer.Option(help="Keep this part of over-long stories: head, tail or middle; without it they are refused."),
]
BatchTokens = Annotated[int | None, typer.Option(min=1, help="Tokens of one forward pass; changes no reward.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run the model's own code; on the Hub needs --revision COMMIT.")
]
Mode = Annotated[str | None, typer.Option(help="Judges: rate, criteria, choose or pairwise (docs/scorers.md).")]
