"""The benchmarks: speed, compared with targets and with baselines. `glyphscope bench` runs them in a checkout."""
