"""Registries, prompts, recorded runs, themes and icons: data files, read by `glyphscope.base.resources` alone."""
