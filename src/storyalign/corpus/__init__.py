"""Reading stories and judged sets; the embedded sample."""
