"""Requests of an agent to its server, captured on the way: each is forwarded unchanged and recorded as a run.

`proxy.py` forwards and writes each exchange to a file while it comes (`exchange.py`); a process beside it makes the
records of runs of these files (`recording.py`), so that no judgement delays an answer, and a killed capture loses
nothing.
Only `glyphscope capture` imports the server's library.
"""
