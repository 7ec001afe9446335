#!/usr/bin/env bash
# Expected: get_json_schema describes the arguments by which a model calls a function; *args and **kwargs are not arguments with these names.
# Happens: transformers 5.24.0 writes `*words: str` as a required text "words" and `**options: int` as a required integer "options". A call by that
#   schema, function(**arguments), is a TypeError for the first; for the second the number arrives as an option with the name "options".
# Who meets it: whoever passes functions as tools to apply_chat_template: each call that the model makes by the schema fails.
# Here: schemas come from many programs and are taken as they are; a Python function with *args is an error in the Python interface.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
from transformers.utils import get_json_schema


def count(*words: str):
    """Count words.

    Args:
        words: the words
    """
    return words


def find(query: str, **options: int):
    """Find pages.

    Args:
        query: the text
        options: numbers by name
    """
    return query, options


# function, arguments that are valid by its schema: (required by the schema, what the call returns), as seen
SEEN = [
    (count, {"words": "red"}, (["words"], "TypeError")),
    (find, {"query": "red", "options": 5}, (["query", "options"], ("red", {"options": 5}))),
]
changed = False
for function, arguments, known in SEEN:
    required = get_json_schema(function)["function"]["parameters"]["required"]
    try:
        called = function(**arguments)
    except TypeError:
        called = "TypeError"
    print(f"{function.__name__}(**{arguments})\n  expected neither 'words' nor 'options' required")
    print(f"  transformers 5.24.0 requires {required}; the call: {called}")
    changed |= (required, called) != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
