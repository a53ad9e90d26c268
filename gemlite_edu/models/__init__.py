"""Whole models: quantize them in one call, save them, load them, and speak with transformers."""
