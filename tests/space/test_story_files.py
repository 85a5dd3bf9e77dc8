import json

import pytest
from story_files import read_story_files
from visitor_limits import InputRefused, Limits, check_request

LIMITS = Limits()


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path, *values):
    return write(path, "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def test_text_files_hold_one_story_each(tmp_path):
    one = write(tmp_path / "one.txt", b"\xef\xbb\xbfFirst line\r\nsecond\r\n")
    two = write(tmp_path / "two.md", "# 故事")
    three = write(tmp_path / "three.txt", "故事".encode("utf-16"))
    dropped = read_story_files([one, two, three], LIMITS)
    assert dropped.names == ("one.txt", "two.md", "three.txt")
    assert dropped.stories == ("First line\nsecond", "# 故事", "故事")


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "P", "chosen": "a", "rejected": ["b", "c"]},
        {"premise": "P", "stories": ["a", "b", "c"]},
        {"premise": "P", "candidates": [{"story": "a", "writer": "x"}, {"story": "b"}, {"story": "c"}]},
    ],
)
def test_a_row_may_hold_a_whole_group(tmp_path, row):
    dropped = read_story_files([rows(tmp_path / "g.jsonl", row)], LIMITS)
    assert (dropped.premise, dropped.stories) == ("P", ("a", "b", "c"))


def test_rows_may_hold_one_story_each(tmp_path):
    dropped = read_story_files([rows(tmp_path / "g.jsonl", {"premise": "P", "story": "a"}, {"text": "b"})], LIMITS)
    assert (dropped.premise, dropped.stories) == ("P", ("a", "b"))


def test_says_that_only_the_first_group_is_taken(tmp_path):
    group = {"prompt": "P", "chosen": "a", "rejected": "b"}
    dropped = read_story_files([rows(tmp_path / "g.jsonl", group, group, group)], LIMITS)
    assert dropped.stories == ("a", "b")
    assert dropped.notices == ("g.jsonl holds 3 groups of stories; the first one was taken.",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.docx", "x", "none of .txt, .md, .jsonl"),
        ("a.txt", b"\xff\xfa\x00x", "no UTF-8"),
        ("a.txt", "a\x00b", "is no text"),
        ("a.txt", " \n", "is empty"),
        ("a.txt", "x" * 1_000_001, "at most 1,000,000"),
        ("a.jsonl", "", "no rows"),
        ("a.jsonl", '{"story": "a"}\n{"story": ', "line 2"),
        ("a.jsonl", '{"id": 3}', "no story in this row"),
        ("a.jsonl", '{"story": "a"}\n{"stories": ["b"]}', "mixes groups"),
        ("a.jsonl", '{"chosen": "a", "rejected": 3}', "neither a story nor a list"),
        ("a.jsonl", '{"stories": ["a", null]}', "empty or no text"),
    ],
)
def test_refuses_with_the_file_and_the_reason(tmp_path, name, content, message):
    with pytest.raises(InputRefused, match=message) as refused:
        read_story_files([write(tmp_path / name, content)], LIMITS)
    assert str(tmp_path) not in str(refused.value)  # the server's folders are nobody's business


@pytest.mark.parametrize(
    ("premise", "stories", "message"),
    [
        ("", ["a", "b"], "premise is empty"),
        ("p" * 8_001, ["a", "b"], "8,001 characters; at most 8,000"),
        ("p", [], "there is none"),
        ("p", ["a"], "there is one"),
        ("p", ["a"] * 17, "17 stories"),
        ("p", ["a", "x" * 60_001], "Story 2 has 60,001 characters"),
        ("p", ["x" * 60_000] * 5, "300,000 characters together"),
        ("p", ["a", " "], "Story 2 is empty"),
    ],
)
def test_limits_are_messages(premise, stories, message):
    names = [f"Story {i + 1}" for i in range(len(stories))]
    with pytest.raises(InputRefused, match=message):
        check_request(premise, stories, names, LIMITS)


def test_the_largest_request_passes():
    check_request("p" * 8_000, ["x" * 15_000] * 16, ["s"] * 16, LIMITS)
