"""`python -m glyphscope`, the same as `glyphscope`."""

from glyphscope.cli import main

if __name__ == "__main__":
    main()
