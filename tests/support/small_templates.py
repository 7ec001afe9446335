"""Chat templates whose parameters begin with their key, or end without a marker, as those of some servers do."""

from __future__ import annotations

from pathlib import Path

_TURNS = (
    "{{ tools | tojson }}{% for m in messages %}<|from|>{{ m.role }}<|said|>{{ m.content or '' }}{% if m.tool_calls %}",
    "{% endif %}<|done|>{% endfor %}{% if add_generation_prompt %}<|from|>assistant<|said|>{% endif %}",
)
_EACH = "{% for c in m.tool_calls %}", "{% endfor %}"
_PAIRS = (
    "{% for k, v in c.function.arguments.items() %}{% if not loop.first %}SEPARATOR{% endif %}",
    "{% endfor %}",
)


def _template(call: str, pair: str, separator: str, between: str = "") -> str:
    """`call` is one call with ARGUMENTS in it, `pair` one argument with KEY and VALUE, `between` is between calls."""
    pairs = _PAIRS[0].replace("SEPARATOR", separator) + pair + _PAIRS[1]
    opened, _, closed = call.partition("ARGUMENTS")
    more = f"{{% if not loop.last %}}{between}{{% endif %}}" if between else ""
    body = _EACH[0] + opened + pairs + closed + more + _EACH[1]
    body = f"[{body}]" if between else body
    body = body.replace("KEY", "{{ k }}").replace("VALUE", "{{ v }}").replace("NAME", "{{ c.function.name }}")
    return _TURNS[0] + body + _TURNS[1]


SMALL = {
    "every value between markers": _template(
        "<start_function_call>call:NAME{{ '{' }}ARGUMENTS{{ '}' }}<end_function_call>",
        "KEY:<escape>VALUE<escape>",
        ",",
    ),
    "Python with quoted values": _template("NAME(ARGUMENTS)", 'KEY="VALUE"', ", ", ", "),
    "Python with bare values": _template("NAME(ARGUMENTS)", "KEY=VALUE", ", ", ", "),
    "no marker after a value": _template("<call>NAME|ARGUMENTS</call>", "KEY=VALUE", ";"),
    "another text without arguments": _template(
        "<call>NAME:{% if c.function.arguments %} ARGUMENTS{% else %} none{% endif %}</call>",
        "KEY=VALUE",
        ";",
    ),
}


def write_small(folder: Path) -> Path:
    """Write the templates into `templates` in a folder, and return the folder."""
    (folder / "templates").mkdir(exist_ok=True)
    for name, source in SMALL.items():
        (folder / "templates" / f"{name}.jinja").write_text(source, encoding="utf-8")
    return folder
