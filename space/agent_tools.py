"""The API as tools of an MCP server: gradio's, with answers in JSON and the refusals of the API."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import gradio as gr
import mcp.server.lowlevel
from gradio.mcp import GradioMCPServer
from mcp import types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rank_tab import letter_names
from visitor_limits import InputRefused, Limits, check_characters


class AgentTools(GradioMCPServer):
    """Gradio's MCP server.

    It differs in three things: an answer is JSON, as text and as ``structuredContent``; a call may be as large as any
    other request; a lone surrogate is found before gradio
    fails to write it into a request of its own.
    """

    def __init__(self, blocks: gr.Blocks, *, limits: Limits):
        self.StreamableHTTPSessionManager = partial(
            StreamableHTTPSessionManager, max_request_body_size=limits.body_bytes
        )
        super().__init__(blocks)

    def create_mcp_server(self) -> mcp.server.lowlevel.Server[Any]:
        """Build the server around gradio's way of calling a tool."""
        server: mcp.server.lowlevel.Server[Any] = super().create_mcp_server()
        call = server.request_handlers[types.CallToolRequest]

        async def checked(request: types.CallToolRequest) -> types.ServerResult:
            try:
                check_arguments(request.params.arguments or {})
            except InputRefused as error:
                said = types.TextContent(type="text", text=str(error))
                return types.ServerResult(types.CallToolResult(content=[said], isError=True))
            result = await call(request)
            answer = result.root
            if isinstance(answer, types.CallToolResult) and not answer.isError:
                answer.structuredContent = json.loads(answer.content[0].text)
            return result

        server.request_handlers[types.CallToolRequest] = checked
        return server

    def postprocess_output_data(self, data: list[Any], root_url: str) -> list[types.TextContent]:
        """Write each value as JSON; no tool returns files."""
        return [types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False)) for value in data]


def check_arguments(arguments: dict[str, Any]) -> None:
    """Check the texts of a call.

    Raises:
        InputRefused: one of them holds a lone surrogate.
    """
    premise, stories = arguments.get("premise"), arguments.get("stories")
    texts = [("The premise", premise)]
    if isinstance(stories, list):
        texts += zip(letter_names(len(stories)), stories, strict=True)
    for name, text in texts:
        if isinstance(text, str):
            check_characters(name, text)
