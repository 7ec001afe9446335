"""llguidance and backtracking regular expressions in a separate process, for untrusted grammars and patterns.

`service` sends requests to that process; `child` is its program; only `masks` and `patterns` import llguidance. A
stack overflow, exhausted memory or an endless compilation there is an error with a reason. A model's process compiles
masks itself: a crash there ends one run.
"""
