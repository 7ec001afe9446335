"""Named changes between the model and the tools, opt-in: for models and templates that do things their own way.

The loop's core knows one form of a message and one of a call. Whatever a model does instead is changed here, by a
transform that the request names, and each change is reported by a `TransformActed`.
"""
