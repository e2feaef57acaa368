"""Benchmarks: ratios measured in one run, against baselines that do the same job with less."""
