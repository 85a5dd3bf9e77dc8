"""The files of open sets with human judgements, as their authors publish them, turned into judged groups.

Every reader gives rows of ``judged_groups``: a score is a list with one number a rater. ``same_raters`` says that the
n-th number of each story of a group is from the same person, so that rankings of raters can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from storyalign.corpus.encodings import read_whole
from storyalign.corpus.language import detect_language
from storyalign.corpus.numbers import read_number
from storyalign.corpus.open_recipe import OpenSource
from storyalign.corpus.table_files import read_table
from storyalign.errors import DataError, MissingExtraError
from storyalign.records import BadRow

Group = dict[str, Any]
Files = Mapping[str, Path]


def read_open_groups(source: OpenSource, files: Files) -> Iterator[Group]:
    """Read a source by its layout.

    Args:
        source: of the recipe; its layout is not ``litbench``, which holds pairs.
        files: where each file of the source lies, by its name in the recipe.

    Raises:
        DataError: a file is missing from the recipe, or is not laid out as expected; names it.
    """
    readers = {
        "hanna": _hanna, "lamp": _lamp, "ttcw": _ttcw, "confederacy": _confederacy,
        "writing_preference_bench": _writing_preference_bench,
    }  # fmt: skip
    for group in readers[source.layout](source, files):
        language = source.language or detect_language(group["premise"])
        yield {"lang": language, "license": source.license, "origin": source.corpus, **group}


def _hanna(source: OpenSource, files: Files) -> Iterator[Group]:
    """Read HANNA: one line for each story and rater; the 11 stories of a prompt are rated by different people.

    A row of ``hanna_stories_annotations.csv``::

        Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,Complexity,Worker ID,
        Assignment ID,Work time in seconds,Name

    Origin: https://github.com/dig-team/hanna-benchmark-asg
    """
    stories: dict[str, dict[str, Any]] = {}
    prompts: dict[str, list[str]] = {}
    for line in read_table(_file(source, files, "annotations")):
        try:
            row = line.row
            key = row["Story ID"]
            if key not in stories:
                stories[key] = {"story": row["Story"], "writer": row["Model"], "scores": {}}
                prompts.setdefault(row["Prompt"], []).append(key)
            values = {name.lower(): read_number(row[name], name) for name in _HANNA}
        except (KeyError, BadRow) as error:
            raise line.error(f"not a row of HANNA: {error}") from error
        values["overall"] = sum(values.values()) / len(values)
        for name, value in values.items():
            stories[key]["scores"].setdefault(name, []).append(value)
    for number, (prompt, keys) in enumerate(prompts.items()):
        candidates = [{**stories[key], "n_raters": len(stories[key]["scores"]["overall"])} for key in keys]
        for candidate in candidates:
            candidate["writer"] = "human" if candidate["writer"].lower() == "human" else candidate["writer"]
        yield {"id": f"hanna-{number:02d}", "premise": prompt, "candidates": candidates, "same_raters": False}


_HANNA = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")


def _lamp(source: OpenSource, files: Files) -> Iterator[Group]:
    """Read the LAMP rankings: three versions of a paragraph, ranked by three writers each.

    ``agreement_map.json`` holds the rankings of each batch by writer, the best first; 1 is the version a person edited,
    2 the LLM's own, 3 the one an LLM edited::

        {"batch1": {"rater-a": [[1, 2, 3], [1, 3, 2]], "rater-b": [[2, 1, 3], [1, 3, 2]]}}

    A batch file has the texts, in the same order of instructions::

        [{"instruction": "...", "responses": ["...", "...", "..."], "id": "...", "instruction_id": 1,
          "mapping": {"Response 1": "AI-generated", "Response 2": "Human-edited", "Response 3": "AI-edited"}}]

    The published passages that the instructions were made from may not be passed on, and are not read.
    Origin: https://github.com/salesforce/creativity_eval, folder ``Writing_Alignment/preference_ranking``
    """
    rankings = _json(_file(source, files, "agreement_map"))
    for name, path in files.items():
        if name == "agreement_map":
            continue
        items = _json(path)
        raters = rankings.get(name, {})
        if not raters or any(len(ranked) != len(items) for ranked in raters.values()):
            raise DataError(f"{path}: its {len(items)} instructions do not fit the rankings of {name}")
        for number, item in enumerate(items):
            try:
                texts = {kind: item["responses"][int(key.split()[-1]) - 1] for key, kind in item["mapping"].items()}
                kinds = {"Human-edited": 1, "AI-generated": 2, "AI-edited": 3}
                candidates = []
                for kind, code in kinds.items():
                    ranks = [ranked[number].index(code) + 1 for ranked in raters.values()]
                    writer = {"AI-generated": "llm", "AI-edited": "llm, edited by an llm"}.get(
                        kind, "llm, edited by a person"
                    )
                    points = [len(kinds) - rank for rank in ranks]
                    candidates.append(
                        {
                            "story": texts[kind],
                            "writer": writer,
                            "scores": {"preference": points},
                            "n_raters": len(ranks),
                        }
                    )
            except (KeyError, ValueError, IndexError, TypeError) as error:
                raise DataError(f"{path}: item {number + 1} is not laid out as expected ({error!r})") from error
            yield {
                "id": f"lamp-{name}-{number + 1:02d}",
                "premise": item["instruction"],
                "candidates": candidates,
                "same_raters": True,
            }


def _ttcw(source: OpenSource, files: Files) -> Iterator[Group]:
    """Read TTCW: stories of three LLMs and one from a magazine for each plot; three experts, 14 yes-or-no tests.

    ``ttcw_short_stories.json``; for the magazine's stories ``content`` is a link, as their text is not free::

        [{"story_idx": 0, "story_id": "0_GPT3.5", "story_name": "...", "plot": "...", "content": "..."}]

    ``ttcw_annotations.json``::

        [{"story_idx": 0, "story_id": "0_GPT3.5", "expert_idx": 9, "ttcw_idx": 1, "category": "Narrative Ending",
          "binary_verdict": "No", "explanation": "..."}]

    Origin: https://github.com/salesforce/creativity_eval
    """
    verdicts: dict[str, dict[str, dict[str, float]]] = {}
    path = _file(source, files, "annotations")
    for line in read_table(path):
        try:
            row = line.row
            passed = {"yes": 1.0, "no": 0.0}[str(row["binary_verdict"]).strip().lower()]
            tests = verdicts.setdefault(str(row["story_id"]), {}).setdefault(str(row["expert_idx"]), {})
            tests[str(row["category"])] = passed
        except KeyError as error:
            raise line.error(f"not an annotation of TTCW: no {error}, or a verdict other than Yes and No") from error
    groups: dict[str, list[Group]] = {}
    experts: dict[str, set[tuple[str, ...]]] = {}
    premises: dict[str, str] = {}
    for line in read_table(_file(source, files, "stories")):
        try:
            row = line.row
            plot, name = str(row["story_idx"]), str(row["story_id"])
            by_expert = dict(sorted(verdicts.get(name, {}).items()))
            writer, content = name.partition("_")[2], row["content"]
            premises.setdefault(plot, row["plot"])
        except KeyError as error:
            raise line.error(f"not a story of TTCW: no {error}") from error
        linked = bool(re.fullmatch(r"https?://\S+", content.strip()))
        scores: dict[str, list[float]] = {}
        for answers in by_expert.values():
            for test, passed in answers.items():
                scores.setdefault(test, []).append(passed)
            scores.setdefault("passed", []).append(sum(answers.values()))
        candidate = {
            "story": None if linked else content,
            "writer": "human" if linked else writer,
            "scores": scores,
            "n_raters": len(by_expert),
        }
        groups.setdefault(plot, []).append(candidate)
        experts.setdefault(plot, set()).add(tuple(by_expert))
    for plot, candidates in groups.items():
        yield {
            "id": f"ttcw-{plot}",
            "premise": premises[plot],
            "candidates": candidates,
            "same_raters": len(experts[plot]) == 1,
        }


def _confederacy(source: OpenSource, files: Files) -> Iterator[Group]:
    """Read the confederacy corpus: 13 stories for one premise in each of five groups, two raters, ten criteria.

    Each story is a text file named by its code, some in cp1252. In the sheet of ratings a story's code stands beside
    (or above) its ten marks, once for each rater. The recipe's options name the premise, the criteria in the order of
    the sheet, and for each group the writer behind each code.

    Origin: https://github.com/komoku/confederacy-of-models
    """
    groups, criteria = source.options["groups"], source.options["criteria"]
    codes = {str(code) for group in groups.values() for code in group}
    sheet = _file(source, files, "ratings")
    marks = _marks(sheet, codes, len(criteria))
    for number, group in groups.items():
        counts = {len(marks[str(code)]) for code in group}
        if len(counts) != 1 or counts == {0}:
            raise DataError(
                f"{sheet}: the stories of group {number} have {sorted(counts)} rows of marks; expected as many each"
            )
        candidates = []
        for code, writer in group.items():
            path = _file(source, files, str(code))
            scores: dict[str, list[float]] = {name: [r[i] for r in marks[str(code)]] for i, name in enumerate(criteria)}
            scores["total"] = [sum(rater) for rater in marks[str(code)]]
            story = read_whole(path)
            candidates.append({"story": story, "writer": writer, "scores": scores, "n_raters": counts.copy().pop()})
        yield {
            "id": f"confederacy-{number}",
            "premise": source.options["premise"],
            "candidates": candidates,
            "same_raters": True,
        }


def _writing_preference_bench(source: OpenSource, files: Files) -> Iterator[Group]:
    """Read WritingPreferenceBench's answers and marks: many LLMs for one request, one mark from 0 to 3 each.

    ``WRITER.answers``::

        [{"question_id": "fb4d...", "__internal_tags__": ["悬疑-推理故事"], "prompt": "...", "predict0": "...",
          "response_metadata_list": [[{"error": null, "finish_reason": "stop"}]]}]

    ``WRITER.scores``::

        [{"original_item_index": 0, "question_id": "fb4d...", "score": 2, "comment": ""}]

    Origin: https://github.com/WritingPreferenceBench/Writing-Preference-Bench, folder ``model results``
    """
    tags = frozenset(source.options.get("tags") or ())
    groups: dict[str, Group] = {}
    for name in files:
        if not name.endswith(".answers"):
            continue
        writer = name.removesuffix(".answers")
        marks = {row["question_id"]: row.get("score") for row in _json(_file(source, files, f"{writer}.scores"))}
        for row in _json(files[name]):
            try:
                question, answer = row["question_id"], row["predict0"]
                if tags and not tags & set(row["__internal_tags__"]):
                    continue
                group = groups.setdefault(
                    question, {"id": f"wpb-{question}", "premise": row["prompt"], "candidates": []}
                )
            except (KeyError, TypeError) as error:
                raise DataError(f"{files[name]}: an answer is not laid out as expected ({error!r})") from error
            # An answer that was cut off or is none stays out: its mark speaks of the accident.
            reasons = {part.get("finish_reason") for parts in row.get("response_metadata_list") or [] for part in parts}
            if marks.get(question) is None or not str(answer or "").strip() or not reasons <= {"stop", None}:
                continue
            candidate = {"story": answer, "writer": writer, "scores": {"quality": [marks[question]]}, "n_raters": 1}
            group["candidates"].append(candidate)
    yield from ({**group, "same_raters": True} for group in groups.values() if len(group["candidates"]) > 1)


def _marks(path: Path, codes: set[str], n: int) -> dict[str, list[list[float]]]:
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", "openpyxl") from error
    found: dict[str, list[list[float]]] = {code: [] for code in codes}
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise DataError(f"{path}: no readable Excel sheet ({' '.join(str(error).split())}); fetch it again") from error
    for sheet in book.worksheets:
        rows = [list(row) for row in sheet.iter_rows(values_only=True)]
        for y, row in enumerate(rows):
            for x, cell in enumerate(row):
                code = str(cell).strip().removesuffix(".txt") if cell is not None else ""
                if code in found:
                    beside = row[x + 1 : x + 1 + n]
                    below = [line[x] if x < len(line) else None for line in rows[y + 1 : y + 1 + n]]
                    for marks in (beside, below):
                        numbers = [float(m) for m in marks if isinstance(m, int | float) and not isinstance(m, bool)]
                        if len(numbers) == n:
                            found[code].append(numbers)
                            break
    if missing := sorted(code for code, marks in found.items() if not marks):
        raise DataError(
            f"{path}: no {n} marks beside or below {missing[0]} ({len(missing)} of {len(codes)} stories); "
            "the sheet is laid out in another way than expected"
        )
    return found


def _json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON in UTF-8 ({error}); fetch it again") from error


def _file(source: OpenSource, files: Files, name: str) -> Path:
    if name not in files:
        raise DataError(f"source {source.name}: the recipe names no file {name!r}")
    return files[name]
