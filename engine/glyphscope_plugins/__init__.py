"""The bundled plug-ins, each found by its entry point in pyproject.toml: docs/plugins.md."""
