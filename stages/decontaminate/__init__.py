"""Stages that find benchmark items in documents."""
