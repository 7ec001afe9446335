"""The native forms of tool calls in known chat templates, recognised by the template's text.

Three forms are known, all JSON with a name and arguments; a template that writes another form is distinguished from one
without tools.

| form    | written                                                       | by                        |
|---------|---------------------------------------------------------------|---------------------------|
| hermes  | `<tool_call>⏎{"name": …, "arguments": …}⏎</tool_call>`        | Hermes 2/3, Qwen 2.5 and 3 |
| llama   | `{"name": …, "parameters": …}`                                | Llama 3.1, 3.2, 3.3       |
| mistral | `[TOOL_CALLS] [{"name": …, "arguments": …}]`                  | Mistral 7B v0.3, Nemo, Small |

A fourth form does not belong to a template: `openai` is our text for an endpoint's `tool_calls`,
`{"name": …, "arguments": …}`, whatever its model wrote.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from glyphscope.events import NativeForm, Shape, TemplateForm


class NativeFormat(NamedTuple):
    """The shape of a call's JSON and the text around it.

    `begun` is written before the call. After free text, a call begins with `marker` or, if there is none, with its own
    first letters; `opener` may be between marker and call. `closing` may follow the call.
    """

    shape: Shape
    begun: str
    marker: str
    opener: str
    closing: str


NATIVE: dict[str, NativeFormat] = {
    "hermes": NativeFormat("name-arguments", "<tool_call>\n", "<tool_call>", "", "</tool_call>"),
    "llama": NativeFormat("name-parameters", "", "", "", ""),
    "mistral": NativeFormat("name-arguments", "[TOOL_CALLS] [", "[TOOL_CALLS]", "[", "]"),
}


ENDPOINTS_OWN: NativeForm = "openai"
"""The form of endpoints: calls are separate from the text, without a prefix."""
_FORMATS = {**NATIVE, ENDPOINTS_OWN: NativeFormat("name-arguments", "", "", "", "")}


def native_format(native: str) -> NativeFormat | None:
    """The form of that name; None for an unresolved "auto" and for no form."""
    return _FORMATS.get(native)


_TOOLS = re.compile(r"\btools\b")
_HERMES = re.compile(r"""<tool_call>(?:\s|\\n)*\{+\s*\\?["'](?:name|arguments)""")
"""Includes the marker's content: other templates write XML in it (Qwen3-Coder, GLM) or only mention it (Apriel)."""
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s?\[(?!ARGS\])")
_LLAMA = re.compile(r"""["']name\\?["']\s*:.{0,200}?["']parameters\\?["']\s*:""", re.DOTALL)


def template_form(template: str) -> TemplateForm:
    """The form in which a chat template writes calls: "other" for an unknown form, "" if it does not support tools."""
    if not _TOOLS.search(template):
        return ""
    if "<tool_call>" in template:
        return "hermes" if _HERMES.search(template) else "other"
    if "[TOOL_CALLS]" in template:
        return "mistral" if _MISTRAL.search(template) else "other"
    if "<|start_header_id|>" in template and _LLAMA.search(template):
        return "llama"
    return "other"
