"""Named, opt-in changes between the model and the tools, for models and templates with their own conventions.

The loop's core knows one form of a message and one of a call. Other forms are converted here, by transforms that the
request names, and each change is reported by a `TransformActed`.
"""
