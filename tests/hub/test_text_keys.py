"""Keys of texts against the same done to one text after the other."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from storyalign.hub import text_pieces
from storyalign.hub.text_keys import TEXT, keys_of_column

AWKWARD = st.text(st.sampled_from("ab \t\n\r\v\f\x08\x0e\x1f\x00\xa0é海😀"), max_size=30)


@settings(max_examples=200, deadline=None)
@given(st.lists(AWKWARD, max_size=6), st.integers(0, 3))
def test_a_key_is_the_hash_of_the_text_without_white_space(texts: list[str], first: int) -> None:
    expected = [xxh3_64_intdigest(t.encode().translate(None, b" \t\n\r\v\f"), TEXT) for t in texts[first:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "PIECE_BYTES", 16)
        assert keys_of_column(pa.array(texts, pa.string()).slice(first)) == expected


def test_pieces_hold_each_text_once_and_a_long_one_alone() -> None:
    texts = ["a" * 10, "b" * 10, "", "c" * 100, "d", ""]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "PIECE_BYTES", 20)
        pieces = list(text_pieces.text_pieces(pa.array(["left out", *texts]).slice(1)))
    assert [piece.offsets.tolist() for piece in pieces] == [[0, 10, 20, 20], [0, 100], [0, 1, 1]]
    assert b"".join(piece.data.tobytes() for piece in pieces).decode() == "".join(texts)
