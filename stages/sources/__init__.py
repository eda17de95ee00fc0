"""Readers of crawled input: one module a format."""
