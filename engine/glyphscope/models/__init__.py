"""Models: GGUF files in llama.cpp, endpoints, records and scripts, behind one interface; and their chat templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.models.chat import MERGED_SYSTEM, NO_TEMPLATE, RESULTS_AS_USER, ChatTemplate, render_plain
    from glyphscope.models.cores import share_cores
    from glyphscope.models.files import FileHash, identity_of, inspect_file
    from glyphscope.models.finding import FoundModel, find_models
    from glyphscope.models.gguf import read_header, read_special_texts, read_token_types
    from glyphscope.models.grammar_probe import GrammarMatch, GrammarProbe
    from glyphscope.models.opening import EMBEDDED, embedded_path, open_model, prepare_model
    from glyphscope.models.probe_child import byte_vocabulary
    from glyphscope.models.prompt_cache import SUFFIX, PromptCache, clear_cache, stored_files
    from glyphscope.models.recorded import RecordedModel
    from glyphscope.models.response_prefix import OTHER_TOKENS, place_prefix, tokenize_after
    from glyphscope.models.template_lint import compare_templates, lint_template, prove_response_template
    from glyphscope.models.templates import TemplateSource, render_template, template_form
else:
    __getattr__ = interface(__name__)
