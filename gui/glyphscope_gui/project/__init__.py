"""The documents of a project (registry, prompt, grammar) and the settings store."""

from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.project.project_controller import FIRST_PROMPT, ProjectController, first_project
from glyphscope_gui.project.prompt_document import PromptContext, PromptDocument, PromptState
from glyphscope_gui.project.registry_document import RegistryDocument, draft_state
from glyphscope_gui.project.settings_store import SettingsStore
