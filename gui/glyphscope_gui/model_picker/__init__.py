"""The model picker: local files, downloads, endpoints."""
