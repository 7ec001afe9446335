"""Experiments with many prompts."""
