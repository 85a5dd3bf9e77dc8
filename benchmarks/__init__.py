"""Benchmarks of the kit against what people use today: ratios from one interleaved run, with their spread."""
