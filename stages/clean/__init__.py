"""Stages that edit text."""
