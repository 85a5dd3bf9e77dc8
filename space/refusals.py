"""A page and an API whose every failure reaches the caller as a sentence, also what gradio itself refuses."""

from __future__ import annotations

from inspect import signature
from typing import Any

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.components.api_component import Api
from gradio.route_utils import FnIndexInferError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

FAILED = "The server failed at this request; its log says why. Try again later."


def refused(reason: str) -> gr.Error:
    """Return an error whose message reaches the caller and that prints no traceback."""
    return gr.Error(reason, print_exception=False)


async def unknown_name(request: Request, error: Exception) -> Response:
    """Answer a call of a function that is not there; other failures outside of a function go on as they are."""
    if isinstance(error, KeyError) and "/call/" not in request.url.path:
        raise error
    return JSONResponse(
        {"detail": f"There is no {request.url.path}; the functions are listed at /gradio_api/info."}, 404
    )


async def unknown_argument(request: Request, error: Exception) -> Response:
    """Answer a call whose named arguments are not those of the function."""
    if "/call/" not in request.url.path:
        raise error
    return JSONResponse({"detail": "The arguments are not those of this function, listed at /gradio_api/info."}, 422)


HANDLERS = {FnIndexInferError: unknown_name, KeyError: unknown_name, TypeError: unknown_argument}
"""What the server answers where gradio fails before a function is found."""


class Page(gr.Blocks):
    """``gr.Blocks`` that answers a sentence where gradio answers ``error: null``.

    Values that fit no input are the caller's error and leave no traceback in the log; any other failure leaves one.
    """

    async def preprocess_data(
        self, block_fn: BlockFunction, inputs: list[Any], *state: Any, **options: Any
    ) -> list[Any]:
        """Check how many values came, and read them.

        Raises:
            gr.Error: too few or too many, or one of them is nothing that its input can hold.
        """
        wanted = list(signature(block_fn.fn).parameters) if any(isinstance(i, Api) for i in block_fn.inputs) else []
        if wanted and len(inputs) != len(wanted):
            raise refused(f"{block_fn.api_name} takes {len(wanted)} values ({', '.join(wanted)}), got {len(inputs)}.")
        try:
            values: list[Any] = await super().preprocess_data(block_fn, inputs, *state, **options)
        except (gr.Error, OSError):
            raise
        except Exception as error:
            raise refused(
                f"{block_fn.api_name} takes plain values ({', '.join(wanted)}), not files."
                if wanted
                else "This request does not fit the page. Reload the page and try again."
            ) from error
        return values

    async def process_api(self, *request: Any, **options: Any) -> dict[str, Any]:
        """Answer one request.

        Raises:
            gr.Error: it has no answer; the message is the reason.
        """
        try:
            answer: dict[str, Any] = await super().process_api(*request, **options)
        except gr.Error:
            raise
        except Exception as error:
            raise gr.Error(FAILED) from error
        return answer
