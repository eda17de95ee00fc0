"""Stages that write signals and decide nothing."""
