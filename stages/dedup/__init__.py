"""Barriers that find documents that repeat each other."""
