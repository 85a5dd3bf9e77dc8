"""Refuses requests that are too large before anything of them is kept in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


PATIENCE = 8
"""Times the limit that are read, and thrown away, before the connection is cut."""


class TooLarge(Exception):
    """The body went over the limit while it was read."""


class RequestSize:
    """ASGI middleware that answers 413 to a request whose body is larger than ``limit`` bytes, announced or not."""

    def __init__(self, app: App, limit: int):
        self.app, self.limit = app, limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, counting its bytes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.limit:
            await self._discard(receive)
            await self._refuse(send)
            return
        read, started = 0, False

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.limit:
                raise TooLarge
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except TooLarge:
            if started:
                raise
            await self._discard(receive)
            await self._refuse(send)

    async def _discard(self, receive: Receive) -> None:
        """Read on, keeping nothing, so that an honest sender gets the answer and not a broken pipe; not for ever."""
        read = 0
        while read <= PATIENCE * self.limit:
            message = await receive()
            read += len(message.get("body", b""))
            if not message.get("more_body"):
                return

    async def _refuse(self, send: Send) -> None:
        text = f'{{"detail": "This request is larger than {self.limit:,} bytes. Send less at a time."}}'
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})
