"""The vocabulary of every layer: ids, views, runs, frames, errors. Imports nothing else of ours."""
