"""The servers under datatrove's runner: ours for an endpoint, datatrove's for vLLM, both asked through our own session.

datatrove's endpoint server knows neither Retry-After nor a time limit nor a cost limit, aborts a task on a status 500
and keeps the key where ``executor.json`` is made of it.
"""

# mypy: disable-error-code="misc"
# (datatrove has no type hints, so its classes are Any to the checker.)

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from datatrove.pipeline.inference.run_inference import InferenceConfig
from datatrove.pipeline.inference.servers import InferenceServer, VLLMServer
from datatrove.pipeline.inference.types import InferenceError, ServerError

from storyalign.errors import EndpointError
from storyalign.llm.budget import Budget
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.session import Answer, Session, open_session


class NoReply(Exception):
    """A call without a reply of use."""

    def __init__(self, answer: Answer):
        super().__init__(answer.failure)
        self.answer = answer


class NoRoom(Exception):
    """The cost limit leaves no room for a call."""


class _SessionRequests:
    """How both servers send: through our own session, opened with the server and closed with it."""

    _session: Session | None = None

    async def _open_session(self, endpoint: Endpoint, budget: Budget) -> None:
        self._open = AsyncExitStack()
        self._session = await self._open.enter_async_context(open_session(endpoint, budget, endpoint.key()))

    async def _make_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        assert self._session is not None
        try:
            answer = await self._session.answer(payload)
            if answer is None:
                raise InferenceError(None, NoRoom("no room under the cost limit"))
            self._session.count(answer)
        except EndpointError as error:
            raise ServerError(error) from error
        if answer.reply is None:
            raise InferenceError(None, NoReply(answer))
        usage = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.reply_tokens}
        return {
            "choices": [{"message": {"content": answer.reply.text}, "finish_reason": "stop"}],
            "usage": {**usage, "counted": answer.reply.prompt_tokens},
        }


class EndpointSession(_SessionRequests, InferenceServer):
    """An endpoint that runs somewhere else."""

    def __init__(self, config: InferenceConfig, rank: int, endpoint: Endpoint, budget: Budget):
        super().__init__(config, rank)
        self._endpoint, self._budget = endpoint, budget

    async def __aenter__(self) -> Any:
        await self._open_session(self._endpoint, self._budget)
        return await super().__aenter__()

    async def __aexit__(self, *exception: Any) -> None:
        await super().__aexit__(*exception)
        await self._open.aclose()

    async def start_server(self) -> None:
        """There is nothing to start."""

    async def monitor_health(self) -> None:
        """Watch nothing, for ever: a call that fails says so itself, and an end would mean that the server has died."""
        await asyncio.Future()

    async def is_ready(self) -> bool:
        """Let the calls find out; many endpoints have no address that answers without a key."""
        return True


class VllmSession(_SessionRequests, VLLMServer):
    """A vLLM server that datatrove starts beside this process, on a cluster's node."""

    def __init__(self, config: InferenceConfig, rank: int, endpoint: Endpoint, budget: Budget):
        super().__init__(config, rank)
        self._endpoint, self._budget = endpoint, budget
        self._opening = asyncio.Lock()

    async def _make_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        async with self._opening:  # its address is known once it has started
            if self._session is None:
                here = replace(self._endpoint, url=f"{self.get_base_url()}/v1", key_variable=None)
                await self._open_session(here, self._budget)
        return await super()._make_request(payload)

    async def __aexit__(self, *exception: Any) -> None:
        if self._session is not None:
            await self._open.aclose()
        await super().__aexit__(*exception)
