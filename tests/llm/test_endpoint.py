import pytest

from storyalign.errors import EndpointError, RecipeError
from storyalign.llm.endpoint import Endpoint, Price

ENTRY = {
    "url": "https://example.org/v1",
    "model": "m",
    "key_variable": "SOME_KEY",
    "price": {"prompt": 2.5, "reply": 10},
}


def test_an_entry_becomes_an_endpoint():
    endpoint = Endpoint.from_recipe("x", {**ENTRY, "max_tokens": 64, "temperature": None})
    assert (endpoint.model, endpoint.max_tokens, endpoint.temperature) == ("m", 64, None)
    assert endpoint.price.cost(1_000_000, 100_000) == 3.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modell": "m"}, "x.modell is unknown; did you mean model"),
        ({"model": None}, "x.model must be a string that is not empty, got null"),
        ({"url": ""}, "endpoint m: url must be an http"),
        ({"url": "ftp://example.org"}, "url must be an http"),
        ({"url": "https://user:pass@example.org/v1"}, "carries credentials"),
        ({"url": "https://example.org/v1?api_key=abc"}, "carries credentials or a query"),
        ({"key_variable": "sk-abc-123"}, "not a key"),
        ({"price": {"prompt": 1}}, "x.price.reply is missing"),
        ({"reply_format": "xml"}, "x.reply_format must be one of json_schema, json_object, text, got 'xml'"),
        ({"tries": 0}, "x.tries must be an integer of 1 or more, got 0"),
        ({"max_concurrency": 2.5}, "x.max_concurrency must be an integer of 1 or more, got 2.5"),
        ({"api_key": "abc"}, "x.api_key is unknown"),
        ({"key_variable": ["abc"]}, "x.key_variable must be a string or null, got list"),
        ({"timeout": 0}, "x.timeout must be a number above 0, got 0"),
    ],
)
def test_a_wrong_entry_is_refused_and_shows_no_secret(change, message):
    with pytest.raises(RecipeError, match=message) as error:
        Endpoint.from_recipe("x", {**ENTRY, **change})
    assert not any(secret in str(error.value) for secret in ("pass", "abc"))


def test_the_key_comes_from_the_environment(monkeypatch):
    endpoint = Endpoint.from_recipe("x", ENTRY)
    monkeypatch.setenv("SOME_KEY", " k \n")
    assert endpoint.key() == "k"
    monkeypatch.setenv("SOME_KEY", "  ")
    with pytest.raises(EndpointError, match="SOME_KEY is not set"):
        endpoint.key()
    assert Endpoint("http://localhost/v1", "m").key() is None


def test_settings_digest_changes_with_what_shapes_a_reply_and_with_nothing_else():
    base = Endpoint.from_recipe("x", ENTRY)
    changed = [
        {"url": "https://example.com/v1"},
        {"model": "n"},
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 8},
        {"reply_format": "json_schema"},
        {"extra": {"top_p": 0.5}},
    ]
    digests = {Endpoint.from_recipe("x", {**ENTRY, **c}).settings_digest() for c in changed} | {base.settings_digest()}
    assert len(digests) == len(changed) + 1
    for c in (
        {"url": "https://example.org/v1/"},
        {"max_concurrency": 1},
        {"price": None},
        {"timeout": 3},
        {"tries": 9},
    ):
        assert Endpoint.from_recipe("x", {**ENTRY, **c}).settings_digest() == base.settings_digest()


def test_a_server_on_this_machine_costs_nothing_unless_told_otherwise():
    assert Endpoint("http://localhost:8000/v1", "m").known_price == Price(0, 0)
    assert Endpoint("http://127.0.0.1:8000/v1", "m", price=Price(1, 2)).known_price == Price(1, 2)
    assert Endpoint("https://example.org/v1", "m").known_price is None
