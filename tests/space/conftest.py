"""The Space's modules stand flat in ``space/``, as the Hub runs them."""

import sys
from pathlib import Path

SPACE = Path(__file__).resolve().parents[2] / "space"
sys.path.insert(0, str(SPACE))
