"""A step's request as it goes over the wire, and its identity."""

from __future__ import annotations

from typing import Any

import orjson

from storyalign.llm.endpoint import Endpoint, Sampling
from storyalign.llm.session import Call, request_body
from storyalign.llm.steps import Row, Step
from storyalign.text import digest


def body_of(step: Step, row: Row, endpoint: Endpoint, attempt: int = 0) -> dict[str, Any]:
    """Write the request for a row; each further attempt has another seed."""
    request = step.request(row)
    seed = request.seed + attempt if request.seed is not None and endpoint.takes_seed else None
    temperature = request.temperature if endpoint.temperature is not None else None
    sampling = Sampling(request.max_tokens, temperature, seed)
    return request_body(Call(row["id"], request.messages, request.response_format, sampling), endpoint)


def body_digest(body: dict[str, Any]) -> str:
    """Hash a request: what was asked, of which model, and how the reply was to be drawn."""
    return digest(orjson.dumps(body, option=orjson.OPT_SORT_KEYS).decode())
