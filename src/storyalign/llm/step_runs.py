"""Running a step: rows of a JSONL file in, ``rows.jsonl`` and ``dropped.jsonl`` out, resumable at any moment.

The folder of a step:

    rows.jsonl        the next rows, in the order of the source; ``made_by`` says how each was made
    dropped.jsonl     the rows that came to nothing, with their reason
    replies/*.jsonl   every reply as it was said; the two files above are made of these and may be deleted
    logs/             a cluster's job scripts and logs

A second run asks only for rows whose call failed, was never made, or whose request has changed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from storyalign.errors import MissingExtraError
from storyalign.files import atomic_path, held, read_jsonl
from storyalign.llm.budget import Budget
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.reply_log import Outcome, ReplyLog
from storyalign.llm.step_calls import ask_rows
from storyalign.llm.steps import Dropped, Row, Step
from storyalign.llm.wire import body_digest, body_of


class StepCounts(NamedTuple):
    """What a step's folder holds, and what this run did for it."""

    rows: int
    dropped: int
    """Rows whose reply was of no use; a second run leaves them alone."""
    failed: int
    """Rows whose call failed; a second run asks again. ``dropped.jsonl`` holds them too."""
    waiting: int
    """Rows not asked yet: the cost limit was reached, or a cluster's jobs have not ended. In neither file."""
    asked: int
    """Rows that this run asked for."""
    reused: int
    """Rows that an earlier run had finished."""
    prompt_tokens: int
    reply_tokens: int
    """Charged by all runs so far, useless and repeated replies included."""
    reasons: dict[str, int]
    """Dropped and failed rows by reason."""

    @property
    def total(self) -> int:
        """Rows of the source."""
        return self.rows + self.dropped + self.failed + self.waiting


def run_step(
    step: Step,
    source: str | Path,
    endpoint: Endpoint,
    out: str | Path,
    *,
    executor: Literal["local"] | Cluster = "local",
    limit: int | None = None,
    budget: Budget | None = None,
    begin: Callable[[int, int], None] | None = None,
    progress: Callable[[Outcome], None] | None = None,
) -> StepCounts:
    """Ask an endpoint about every row and write what comes of it.

    Args:
        step: what to ask and how to read the reply.
        source: a JSONL file; every row has an ``id`` of its own.
        endpoint: whom to ask.
        out: the step's folder, one for each endpoint.
        executor: ``local`` runs to the end; a cluster's jobs are submitted, and the same call made again after their
            end collects the rows. An endpoint whose model the cluster cannot start is called from here.
        limit: use only so many rows from the start of the source.
        budget: the endpoint's money; may be shared by several steps of one endpoint.
        begin: called once with the rows that need a call, and those that don't.
        progress: called after each outcome, in the thread of the run.

    Raises:
        DataError: the source cannot be read, an id is missing or stands twice, or another process uses the folder.
        EndpointError: no call can succeed, or too many failed in a row. What was answered is kept.
    """
    source, out = Path(source), Path(out)
    replies = out / "replies"
    if isinstance(executor, Cluster) and not executor.takes(endpoint):
        executor = "local"
    with held(out):
        replies.mkdir(parents=True, exist_ok=True)
        log = ReplyLog(replies)
        requests = {row["id"]: request for row, request in requests_of(step, source, endpoint, limit)}
        reused = sum(log.finished(row_id, request) for row_id, request in requests.items())
        pending = len(requests) - reused
        if begin is not None:
            begin(pending, reused)
        if pending and isinstance(executor, Cluster):
            _submit(step, source, endpoint, out, executor, limit)
        elif pending:
            rows = ((row, request) for row, request in _rows(source, requests) if not log.finished(row["id"], request))
            money = budget or Budget(None, endpoint.known_price)
            asyncio.run(ask_rows(step, rows, endpoint, replies / "00000.jsonl", money, progress))
        counts = _collect(step, _rows(source, requests), endpoint, out, ReplyLog(replies) if pending else log)
        asked = 0 if isinstance(executor, Cluster) else pending - counts.waiting
        return counts._replace(asked=asked, reused=reused)


def requests_of(step: Step, source: Path, endpoint: Endpoint, limit: int | None) -> Iterator[tuple[Row, str]]:
    """Yield each row with the digest of its request.

    Raises:
        RowError: a row has no id, or one that another row has.
    """
    seen = set[str]()
    for number, line in enumerate(read_jsonl(source)):
        if limit is not None and number >= limit:
            return
        row_id = line.row.get("id")
        if not isinstance(row_id, str) or not row_id:
            raise line.error("the row has no id; every row of a step needs one")
        if row_id in seen:
            raise line.error("another row has this id")
        seen.add(row_id)
        yield line.row, body_digest(body_of(step, line.row, endpoint))


def _rows(source: Path, requests: Mapping[str, str]) -> Iterator[tuple[Row, str]]:
    """Read the rows again, each with the digest of its request."""
    return ((line.row, requests[line.row["id"]]) for line in islice(read_jsonl(source), len(requests)))


def _submit(step: Step, source: Path, endpoint: Endpoint, out: Path, cluster: Cluster, limit: int | None) -> None:
    try:
        from storyalign.llm.executors import StepShare, submit
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", error.name or "datatrove") from error
    submit(StepShare(step, source, endpoint, out / "replies", limit, cluster), out / "logs")


def _collect(
    step: Step, requests: Iterable[tuple[Row, str]], endpoint: Endpoint, out: Path, log: ReplyLog
) -> StepCounts:
    """Write both files from the replies, in the order of the source."""
    rows = dropped = failed = waiting = 0
    reasons: Counter[str] = Counter()
    with (
        atomic_path(out / "rows.jsonl") as rows_path,
        atomic_path(out / "dropped.jsonl") as dropped_path,
        rows_path.open("wb") as rows_file,
        dropped_path.open("wb") as dropped_file,
    ):
        for row, request in requests:
            outcome = log.outcome(row["id"], request)
            if outcome is None:
                waiting += 1
                continue
            made = _next_row(step, row, endpoint, outcome)
            if isinstance(made, Dropped):
                failed, dropped = failed + made.again, dropped + (not made.again)
                reasons[made.reason] += 1
                record = {"id": made.id, "reason": made.reason, "again": made.again}
                dropped_file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            else:
                rows += 1
                rows_file.write(orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE))
    return StepCounts(
        rows, dropped, failed, waiting, 0, 0, log.prompt_tokens, log.reply_tokens, dict(reasons.most_common())
    )


def _next_row(step: Step, row: Row, endpoint: Endpoint, outcome: Outcome) -> Row | Dropped:
    if outcome.failure is not None or outcome.reply is None:
        return Dropped(row["id"], outcome.failure or "no reply", outcome.again)
    made = step.read(row, outcome.reply)
    if made.get("id") != row["id"]:
        raise ValueError(f"step {step.name}: read changed the id {row['id']} to {made.get('id')}")
    return {**made, "made_by": made_by(step, row, endpoint, outcome.seed)}


def made_by(step: Step, row: Row, endpoint: Endpoint, seed: int | None) -> dict[str, Any]:
    """Return what produced a row: step, model, prompt with its digest, and how the reply was drawn."""
    temperature = step.request(row).temperature if endpoint.temperature is not None else None
    return {
        "step": step.name,
        "model": endpoint.model,
        "prompt": step.prompt.name,
        "prompt_digest": step.prompt.digest,
        "seed": seed,
        "temperature": temperature,
    }
