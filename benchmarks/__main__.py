"""``python -m benchmarks``: the table in under five minutes; ``--long`` adds more. Run nothing beside it."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time

from benchmarks import dataset_build, memory, scoring, training_speed

PARTS = ("scoring", "memory", "training", "build")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--long", action="store_true", help="also memory growth, and the build of 10,000 pairs")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds; the median is reported")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="measure these parts alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a goal is missed")
    options = parser.parse_args()
    begun = time.monotonic()
    machine = platform.processor() or platform.machine()
    print(f"{machine}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    parts = options.only or PARTS
    rows = [
        *(scoring.run(options.rounds) if "scoring" in parts else ()),
        *(memory.run(long=options.long) if "memory" in parts else ()),
        *(training_speed.run(options.rounds) if "training" in parts else ()),
        *(dataset_build.run(options.rounds) if "build" in parts and options.long else ()),
    ]
    width = max(len(row.what) for row in rows)
    print(f"\n{'':{width}}    median  (lowest - highest)   goal")
    for row in rows:
        spread = f"({row.low:.2f} - {row.high:.2f})"
        print(f"{row.what:{width}}  {row.median:8.2f}  {spread:19} {row.goal_text:>7}  {row.verdict}")
    print(f"\n{time.monotonic() - begun:.0f} s")
    return int(options.strict and not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main())
