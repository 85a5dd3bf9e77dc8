"""The running Space as programs and agents see it."""

import asyncio
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.support.space_serving import serving


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("api") / "log.txt") as running:
        yield running


@pytest.fixture(scope="module")
def client(address):
    return new_client(address)


def new_client(address):
    return Client(address, verbose=False, httpx_kwargs={"timeout": 120})


def test_rank(client):
    answer = client.predict("A premise", ["low reward=0", "high reward=2", "endless"], api_name="/rank")
    assert [(s["index"], s["place"], s["reward"]) for s in answer["stories"]] == [
        (1, 1, 2.0),
        (0, 2, 0.0),
        (2, None, None),
    ]
    assert answer["stories"][0]["beats_next"] == pytest.approx(0.8807970779778823)  # 1 / (1 + e**-2)
    assert answer["stories"][2]["detail"] == "longer than the model can read"
    assert answer["scorer"] == "fake/scorer" and answer["signature"] == "f" * 64


def test_best_of_n(client):
    answer = client.predict("A premise", 2, 100, api_name="/best_of_n")
    assert answer["best"] == answer["stories"][answer["ranking"]["stories"][0]["index"]] == "a second draft reward=2"


def test_the_schema_is_typed_and_nothing_else_is_public(address):
    with urllib.request.urlopen(f"{address}/gradio_api/info") as response:
        endpoints = json.load(response)["named_endpoints"]
    assert set(endpoints) == {"/rank", "/best_of_n"}
    parameters = {p["parameter_name"]: p["type"] for p in endpoints["/rank"]["parameters"]}
    assert parameters == {"premise": {"type": "string"}, "stories": {"type": "array", "items": {"type": "string"}}}
    returned = endpoints["/rank"]["returns"][0]["type"]["properties"]
    assert returned["stories"]["items"]["properties"]["place"] == {"oneOf": [{"type": "null"}, {"type": "integer"}]}


@pytest.mark.parametrize(
    ("premise", "stories", "message"),
    [
        ("", ["a", "b"], "premise is empty"),
        ("p", ["a"], "at least 2 stories"),
        ("p", ["x" * 5_000_000, "b"], "Story A has 5,000,000 characters; at most 60,000"),
        ("p", ["a"] * 300, "300 stories were given; at most 16"),
        ("p", "no list", "a list of texts"),
        ("p", ["a", None], "a list of texts"),
        (None, ["a", "b"], "premise is a text"),
        ({"path": "/etc/passwd"}, ["a", "b"], "premise is a text"),
    ],
)
def test_refusals_reach_the_caller(client, premise, stories, message):
    with pytest.raises(AppError, match=message):
        client.predict(premise, stories, api_name="/rank")


def test_a_body_beyond_the_limit_is_refused_unread(address):
    body = b'{"data": ["' + b"x" * 8_100_000 + b'", []]}'
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{address}/gradio_api/call/rank", data=body, headers=headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 413 and b"8,000,000 bytes" in refused.value.read()


def test_agents_find_the_tool_and_call_it(address):
    async def visit():
        async with (
            streamable_http_client(f"{address}/gradio_api/mcp/") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            arguments = {"premise": "p", "stories": ["a reward=1", "b reward=3"]}
            return tools, await session.call_tool(tools[0].name, arguments)

    tools, result = asyncio.run(visit())
    assert [tool.name for tool in tools] == ["rank", "best_of_n"]
    assert tools[0].inputSchema["properties"]["stories"]["items"] == {"type": "string"}
    assert "2 to 16 whole stories" in tools[0].inputSchema["properties"]["stories"]["description"]
    assert not result.isError
    assert [s["index"] for s in result.structuredContent["stories"]] == [1, 0]
    assert json.loads(result.content[0].text) == result.structuredContent


@pytest.mark.parametrize(
    ("stories", "message"),
    [
        (["a"], "A ranking needs at least 2 stories"),
        (["x" * 5_000_000, "b"], "Story A has 5,000,000 characters; at most 60,000"),
        (["a", "b \ud83d"], "Story B holds a lone surrogate, U+D83D, at character 3."),
        (["a " * 29_000] * 4, "The model would read 58,001 tokens"),
    ],
)
def test_an_agent_gets_the_sentences_of_the_api(address, stories, message):
    call = {"name": "rank", "arguments": {"premise": "p", "stories": stories}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{address}/gradio_api/mcp/", body, headers)) as response:
        lines = response.read().decode().splitlines()
    result = json.loads(next(line for line in lines if line.startswith("data: "))[6:])["result"]
    assert result["isError"] and result["content"][0]["text"].startswith(message)
    assert result["content"][0]["text"] == event(address, "rank", ["p", stories])["error"]


def event(address, name, values):
    """Call the API as its documentation does with curl; return what its last event says."""
    headers = {"content-type": "application/json"}
    body = json.dumps({"data": values}).encode()  # json escapes lone surrogates
    request = urllib.request.Request(f"{address}/gradio_api/call/{name}", body, headers)
    with urllib.request.urlopen(request) as response:
        number = json.load(response)["event_id"]
    with urllib.request.urlopen(f"{address}/gradio_api/call/{name}/{number}") as stream:
        return json.loads(stream.read().decode().rsplit("data: ", 1)[1])


FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("rank", [], "rank takes 2 values (premise, stories), got 0."),
        ("rank", ["p"], "rank takes 2 values (premise, stories), got 1."),
        ("rank", ["p", ["a", "b"], "more"], "rank takes 2 values (premise, stories), got 3."),
        ("rank", [FILE, ["a", "b"]], "rank takes plain values (premise, stories), not files."),
        ("rank", ["p", ["a", FILE]], "rank takes plain values (premise, stories), not files."),
        ("rank", ["p\udc00", ["a", "b"]], "The premise holds a lone surrogate, U+DC00, at character 2."),
        ("best_of_n", ["p"], "best_of_n takes 3 values (premise, n, words), got 1."),
        ("best_of_n", ["\udc00", 2, 100], "The idea holds a lone surrogate, U+DC00, at character 1."),
    ],
)
def test_what_gradio_refuses_is_refused_in_a_sentence(address, name, values, message):
    assert event(address, name, values)["error"].startswith(message)  # and serving() finds no traceback in the log


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("nosuch", 404, "There is no /gradio_api/call/nosuch"),
        ("v2/nosuch", 404, "There is no /gradio_api/call/v2/nosuch"),
        ("v2/rank", 422, "The arguments are not those of this function"),
    ],
)
def test_a_call_of_nothing_says_what_there_is(address, call, code, message):
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{address}/gradio_api/call/{call}", b'{"data": []}', headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == code and message in json.load(refused.value)["detail"]


def test_too_many_tokens_are_refused_with_the_time_they_take(tmp_path):
    with serving(tmp_path / "log.txt", "--seconds", "1") as address:
        # Without a tokenizer four characters count as a token: 2,000 of premises and stories in a second, then 32,000.
        first = event(address, "rank", ["p" * 2000, ["a" * 2000, "b" * 2000]])
        refusal = event(address, "rank", ["p" * 8000, ["a" * 56_000, "b" * 56_000]])["error"]
    assert len(first[0]["stories"]) == 2
    assert refusal.startswith("The model would read 32,000 tokens, which takes about 16 seconds here; at most 16,000")


def test_visitors_at_once_get_their_own_answers(address):
    def visit(number):
        mine = new_client(address)
        answer = mine.predict(
            f"premise {number}", [f"a reward={number}", f"b reward={number + 1000}"], api_name="/rank"
        )
        return [story["reward"] for story in answer["stories"]]

    with ThreadPoolExecutor(12) as visitors:
        answers = list(visitors.map(visit, range(24)))
    assert answers == [[number + 1000.0, float(number)] for number in range(24)]
