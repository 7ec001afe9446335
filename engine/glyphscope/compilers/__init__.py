"""llguidance, and the regular expressions that backtrack, in a process of their own: for text that others wrote.

`service` asks that process; `child` is its program, `masks` and `patterns` do its work, and nobody else here imports
llguidance. A stack that overflows there, memory that runs out or a compiler that does not come to an end is an answer
in words. The process of a model compiles masks itself: a crash there ends one run.
"""
