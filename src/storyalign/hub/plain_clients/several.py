"""Run several of the clients one after the other: a line of JSON with name and argument in, a line of JSON out.

An answer is ``{"value": ...}``, or ``{"error": ...}`` with what went wrong, in one line.
"""

import json
import os
import sys
import traceback
from importlib import import_module

FUNCTIONS = {"dataset_rows": "load", "metric_value": "compute", "model_reward": "score", "repository_files": "look"}


def main() -> None:
    """Answer until the input ends; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, argument = json.loads(line)
        try:
            answer = {"value": getattr(import_module(name), FUNCTIONS[name])(**argument)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
