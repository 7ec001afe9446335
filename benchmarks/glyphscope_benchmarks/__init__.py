"""The benchmarks: speed, measured against targets and against baselines. `glyphscope bench` runs them in a checkout."""
