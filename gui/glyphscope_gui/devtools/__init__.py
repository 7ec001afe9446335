"""Screenshots and frame times: tools of the developers, run with `python -m`."""
