"""The calls that a suite's expectations accept, written out."""

from itertools import islice, product

from glyphscope.evals.suites.suite import expectations


def golds(call):
    """Yield the possible arguments of an expected call, with every value, at most 400."""
    if call.schema is not None and "enum" in call.schema:
        yield from call.schema["enum"]
        return
    names = list(call.any_of)
    for values in islice(product(*(call.any_of[name] for name in names)), 200):
        arguments = {**(call.arguments or {}), **dict(zip(names, values))}
        yield arguments
        if call.optional:
            yield {name: value for name, value in arguments.items() if name not in call.optional}


def expected(scenario):
    """The expected calls of all turns."""
    for expect in expectations(scenario):
        yield from expect.calls
