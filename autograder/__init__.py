"""Runs submissions: sandbox, split runner, counters and checks."""
