"""``netsum schedule``: collectives and pipelines as data."""
