"""Stages that read signals or URLs and keep or drop."""
