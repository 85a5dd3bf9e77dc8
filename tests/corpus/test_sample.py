from collections import Counter
from itertools import combinations

from storyalign.corpus.sample import THEMES, load_sample_stories
from storyalign.text import count_words


def test_seventeen_stories_a_theme_fourteen_english_and_three_chinese():
    counts = Counter((s.theme, s.language) for s in load_sample_stories())
    assert counts == {(theme, language): n for theme in THEMES for language, n in (("en", 14), ("zh", 3))}


def test_every_story_keeps_to_its_length_and_layout():
    for s in load_sample_stories():
        assert 120 <= count_words(s.story) <= 220, s.id
        assert s.story == s.story.strip() and s.premise == s.premise.strip(), s.id
        assert "  " not in s.story and "\n\n\n" not in s.story and "\t" not in s.story, s.id
        assert 3 <= len(s.story.split("\n\n")) <= 8, s.id
        assert s.story.count('"') % 2 == 0 and s.story.count("“") == s.story.count("”"), s.id
        assert "…" not in s.story or s.language == "zh", s.id


def test_ids_premises_and_stories_are_unique_and_licensed():
    stories = load_sample_stories()
    for field in ("id", "premise", "story"):
        assert len({getattr(s, field) for s in stories}) == len(stories)
    assert {(s.writer, s.license) for s in stories} == {("kit-author", "Apache-2.0")}


def test_no_two_stories_share_a_run_of_nine_words():
    def runs(text: str) -> set[str]:
        words = text.lower().split()
        return {" ".join(words[i : i + 9]) for i in range(len(words) - 8)}

    english = [(s.id, runs(s.premise + " " + s.story)) for s in load_sample_stories() if s.language == "en"]
    assert [(a, b) for (a, ra), (b, rb) in combinations(english, 2) if ra & rb] == []
