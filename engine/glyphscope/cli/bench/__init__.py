"""The bench: speed, measured against targets and against others."""

from glyphscope.cli.bench.command import bench

__all__ = ["bench"]
