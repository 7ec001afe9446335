"""The look of the window: colours by role, fonts, icons and the one style sheet."""

from glyphscope_gui.theme.fonts import mono_font, title_font, ui_font, use_font
from glyphscope_gui.theme.load import Theme, load_theme
from glyphscope_gui.theme.manager import FollowsLooks, ThemeManager, theme
