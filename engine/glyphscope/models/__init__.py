"""Models: GGUF files in llama.cpp, endpoints, records and scripts, behind one interface; and their chat templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.models.batch_sizes import (
        BatchFile,
        BatchTimer,
        BatchTimes,
        OtherPrograms,
        with_measured_batch,
    )
    from glyphscope.models.chat import MERGED_SYSTEM, NO_TEMPLATE, RESULTS_AS_USER, ChatTemplate, render_plain
    from glyphscope.models.chat_messages import (
        CALLS_AS_TEXT,
        SPLIT_CALLS,
        TEXT_APART,
        TEXT_AS_REASONING,
        TEXT_LEFT_OUT,
        link_results,
    )
    from glyphscope.models.cores import share_cores
    from glyphscope.models.files import FileHash, identity_of, inspect_file
    from glyphscope.models.finding import FoundModel, find_models
    from glyphscope.models.gguf import read_header, read_special_texts, read_token_types
    from glyphscope.models.grammar_probe import GrammarMatch, GrammarProbe
    from glyphscope.models.inspection import (
        Inspection,
        MarkerToken,
        TemplateMarker,
        VocabularyMarkers,
        find_markers,
        inspect_template,
        with_proof,
    )
    from glyphscope.models.interface import (
        Cancelled,
        ConstraintMade,
        GenerateRequest,
        Model,
        Opening,
        Output,
        PromptProgress,
        PromptReady,
        RenderedPrompt,
        Vocabulary,
        same_model,
    )
    from glyphscope.models.llama import LlamaModel
    from glyphscope.models.llama_engine import model_parameters
    from glyphscope.models.memory import ModelFacts, memory_needed, read_facts
    from glyphscope.models.opening import EMBEDDED, embedded_path, open_model, prepare_model
    from glyphscope.models.probe_child import byte_vocabulary
    from glyphscope.models.prompt_cache import SUFFIX, PromptCache, clear_cache, stored_files
    from glyphscope.models.recorded import RecordedModel
    from glyphscope.models.response_prefix import OTHER_TOKENS, place_prefix, tokenize_after
    from glyphscope.models.scripted import ScriptedModel, cut, split_turns
    from glyphscope.models.template_lint import compare_templates, lint_template, prove_response_template
    from glyphscope.models.template_variables import (
        CONVERSATIONS,
        TemplateVariable,
        find_variables,
        variables_of,
    )
    from glyphscope.models.templates import TemplateSource, render_template, template_form
    from glyphscope.models.tokens import read_ends, read_pieces, read_special
    from glyphscope.models.turn_forms import (
        TemplateRenderer,
        derived_form,
        open_template,
        renderer_of,
        template_of_text,
        template_turn_form,
    )
else:
    __getattr__ = interface(__name__)
