"""Errors that users met, as breakages: each removes a part of a fix (`breakages.py` runs them)."""

from __future__ import annotations

from breakage import Breakage

_LIMITS, _LOOKS = "engine/test_loop_limits.py::test_the_time_of", "gui/test_window_looks.py::test_"
_WINDOW, _RUNS = "gui/glyphscope_gui/shell/main_window.py", "gui/glyphscope_gui/runs/run_controller.py"
_RESULT, _PLAYGROUND = "gui/glyphscope_gui/evaluate/result.py", "gui/glyphscope_gui/playground"
_PREPARED = "engine/test_prepared.py::test_a_loop_is_described_by_its_allowed_tools"
_ATTRIBUTION = "engine/glyphscope/explain/constraint_attribution.py"
_DUPLICATE = "engine/test_constraint_attribution.py::test_a_duplicate_key_is_attributed_to_no_constraint"
_CONTRADICTED = "gui/test_tools_dock.py::test_an_enum_that_its_length_contradicts_is_marked_at_its_place"
_ANSWERING = "gui/test_lessons.py::test_answering_a_question_shows_the_next_part_and_completes_the_lesson"
_NOT_STARTED = (
    "gui/test_bad_input.py::test_a_run_that_does_not_start_is_an_error_above_the_last_run_with_its_fix"
)
_COMPILERS = "engine/test_compilers.py::test_"

_FORMATS, _PATTERNS = "engine/test_formats.py::test_", "engine/test_grammar_patterns.py::test_"

FIXES = (
    Breakage(
        "fix: 19.99 is a multiple of 0.01 in the final verdict",
        "engine/glyphscope/grammar/checking.py",
        '"multipleOf": _compared(_is_off, "not a multiple of"),',
        "",
        ("engine/test_validator_checker.py::test_numbers_are_compared_as_the_decimals_that_are_written",),
    ),
    Breakage(
        "fix: a pattern that engines read differently is not enforced",
        "engine/glyphscope/registry/pattern_syntax.py",
        'raise UnreadablePattern(f"engines read {like[0]} differently; {written} has one meaning")',
        "return",
        (f"{_PATTERNS}a_pattern_that_engines_read_differently_is_neither_enforced_nor_checked_and_reported",),
    ),
    Breakage(
        "fix: an escape does not evade a look-ahead",
        "engine/glyphscope/grammar/regular/regex.py",
        "_canonical(_found_by(rest))",
        "_found_by(rest)",
        (f"{_PATTERNS}a_look_ahead_at_the_beginning_is_enforced",),
    ),
    Breakage(
        "fix: leap seconds at 23:59:60 UTC only",
        "engine/glyphscope/grammar/regular/formats.py",
        "% 1440 == 1439",
        "% 60 == 59",
        (f"{_FORMATS}a_leap_second_is_the_last_one_before_midnight_utc",),
    ),
    Breakage(
        "fix: the time of an approval is not the tool's",
        "engine/glyphscope/runs/tool_execution.py",
        "(emitter.now - began - (spent.waited - waited)) * 1000",
        "(emitter.now - began) * 1000",
        (f"{_LIMITS}_a_call_excludes_waiting_for_the_user",),
    ),
    Breakage(
        "fix: the time of an approval is not counted by the loop's limit",
        "engine/glyphscope/runs/strategies/loop/guards.py",
        "return self._context.emitter.now - self._context.spent.waited",
        "return self._context.emitter.now",
        (f"{_LIMITS}_an_approval_does_not_count",),
    ),
    Breakage(
        "fix: the time of an approval in the timeline",
        f"{_PLAYGROUND}/timeline_model.py",
        "max(now - stage.began - stage.waited, 0.0)",
        "max(now - stage.began, 0.0)",
        ("gui/test_timeline.py::test_the_time_that_the_user_takes_is_shown_only_in_the_row_of_the_approval",),
    ),
    Breakage(
        "fix: the time of an approval in the gauge of the limit",
        f"{_PLAYGROUND}/timeline.py",
        "max(now - state.waited, 0.0)",
        "now",
        ("gui/test_timeline.py::test_the_time_that_the_user_takes_is_shown_only_in_the_row_of_the_approval",),
    ),
    Breakage(
        "fix: a chart of steps without holes: no bar is narrower than a pixel",
        f"{_PLAYGROUND}/charts.py",
        "step = -(-len(values) * MIN_SLOT // room) or 1",
        "step = 1",
        ("gui/test_charts.py",),
    ),
    Breakage(
        "fix: a chart of steps without holes: bars without gaps where there are many",
        f"{_PLAYGROUND}/charts.py",
        "(1.0 if touch and not forced else _WIDTHS[forced])",
        "_WIDTHS[forced]",
        ("gui/test_charts.py",),
    ),
    Breakage(
        "fix: one population of a result: rows leave controls out",
        _RESULT,
        "if control == row.control",
        "if True",
        (
            "gui/test_eval_results.py::test_all_tables_and_charts_of_a_result_with_controls_use_the_same_samples",
        ),
    ),
    Breakage(
        "fix: one population of a result: failures, charts and pairs leave controls out",
        _RESULT,
        "if not (self.controls and cell.control)",
        "if True",
        (
            "gui/test_eval_results.py::test_all_tables_and_charts_of_a_result_with_controls_use_the_same_samples",
        ),
    ),
    Breakage(
        "fix: one population of a result, named on the page",
        "gui/glyphscope_gui/evaluate/result_presenter.py",
        "self._view.population.setText(",
        "str(",
        (
            "gui/test_eval_results.py::test_all_tables_and_charts_of_a_result_with_controls_use_the_same_samples",
        ),
    ),
    Breakage(
        "fix: the history has the model's own notation, also of a failed run",
        "engine/glyphscope/store/history.py",
        "notation=_notation(request),",
        "notation=request.notation,",
        ("gui/test_history_dock.py::test_a_run_is_listed_with_its_requested_notation_also_where_it_failed",),
    ),
    Breakage(
        "fix: the top bar follows the size of text back",
        _WINDOW,
        "themes.changed.connect(self._restyle)",
        "pass",
        (f"{_LOOKS}the_top_bar_is_restored_after_larger_text",),
    ),
    Breakage(
        "fix: a change of theme restyles each widget once",
        "gui/glyphscope_gui/theme/dressing.py",
        """                    widget.setAttribute(_OWN_STYLE, True)
                    without""",
        "                    without",
        (f"{_LOOKS}a_change_of_theme_restyles_each_widget_only_a_few_times",),
    ),
    Breakage(
        "fix: the first window is inside the screen: room for its frame",
        _WINDOW,
        "size = FIRST_SIZE.boundedTo(inside.size())",
        "size = FIRST_SIZE",
        (f"{_LOOKS}the_first_place_leaves_room_for_a_frame_and_is_in_the_middle_of_a_large_screen",),
    ),
    Breakage(
        "fix: the first window is inside the screen: checked with its frame",
        _WINDOW,
        "            self._framed.start()",
        "            pass",
        (f"{_LOOKS}a_window_at_its_first_start_is_inside_the_screen_with_its_frame",),
    ),
    Breakage(
        "fix: the first window is inside the screen: its first place",
        _WINDOW,
        "self.setGeometry(first_geometry(self.screen().availableGeometry()))",
        "self.resize(FIRST_SIZE)",
        (f"{_LOOKS}a_window_at_its_first_start_is_inside_the_screen_with_its_frame",),
    ),
    Breakage(
        "fix: a loop's tools: its instructions and sizes",
        "engine/glyphscope/runs/prepared.py",
        'return self._in_loop(self.offered) if self.request.strategy == "loop" else self.offered',
        "return self.offered",
        (
            _PREPARED,
            "gui/test_worker.py::test_the_instructions_of_a_loop_are_counted_with_the_tools_that_it_may_use",
        ),
    ),
    Breakage(
        "fix: a loop's tools: its fields",
        "engine/glyphscope/runs/state.py",
        "return self.prepared.enforced",
        "return self.prepared.registry",
        (_PREPARED,),
    ),
    Breakage(
        "fix: a duplicate key is attributed to no constraint",
        _ATTRIBUTION,
        "if after.alive or self._is_duplicate(tool, before, text):",
        "if after.alive:",
        (_DUPLICATE,),
    ),
    Breakage(
        "fix: a duplicate key is named as such",
        _ATTRIBUTION,
        'return "duplicate" if self._is_duplicate(tool, before, text) else ""',
        'return ""',
        (_DUPLICATE,),
    ),
    Breakage(
        "fix: a key that begins like a given one is an unknown argument",
        "engine/glyphscope/validation/streaming_validator.py",
        "if (reason := level.not_repeated(whole=whole)) is not None:",
        "if (reason := None) is not None:",
        (
            "engine/test_validator_calls.py::test_a_key_that_begins_like_a_given_one_is_an_unknown_argument",
            "engine/test_validator_calls.py::test_a_violation_is_corrected_when_the_key_is_another",
        ),
    ),
    Breakage(
        "fix: LEADING_TEXT names every possible beginning",
        "engine/glyphscope/validation/call.py",
        """return ("'{'", *self._head_names)""",
        """return ("'{'",)""",
        ("engine/test_validator_calls.py::test_every_possible_beginning_is_named",),
    ),
    Breakage(
        "fix: constraints that contradict each other: grammar build warns",
        "engine/glyphscope/cli/grammar/build.py",
        "print_contradictions(registry_contradictions(tools))",
        "pass",
        ("engine/test_grammar_contradictions.py::test_grammar_build_warns_of_a_contradiction_on_stderr",),
    ),
    Breakage(
        "fix: constraints that contradict each other: dropped values are noted",
        "engine/glyphscope/grammar/builder/context.py",
        'self.listed[value] = None if self.listed.get(value, "") is None else why',
        "pass",
        ("engine/test_grammar_contradictions.py", _CONTRADICTED),
    ),
    Breakage(
        "fix: constraints that contradict each other: the form marks them",
        "gui/glyphscope_gui/tools/form.py",
        'kinds |= dict.fromkeys((one.pointer for one in here), "contradiction")',
        "pass",
        (_CONTRADICTED,),
    ),
    Breakage(
        "fix: lessons: digits answer wherever the focus is",
        "gui/glyphscope_gui/lessons/page.py",
        "digit = Qt.Key.Key_1 <= event.key() <= Qt.Key.Key_9",
        "digit = False",
        (_ANSWERING,),
    ),
    Breakage(
        "fix: lessons: what follows a question is shown after its answer",
        "gui/glyphscope_gui/lessons/reader.py",
        "is_covered = is_covered or guards",
        "is_covered = False",
        (_ANSWERING,),
    ),
    Breakage(
        "fix: lessons: a lesson is completed when its questions are answered",
        "engine/glyphscope/lessons/progress.py",
        " and set(range(questions)) <= set(self.answers)",
        "",
        (
            "engine/test_lessons.py::"
            "test_a_lesson_is_completed_when_every_step_was_seen_and_every_question_answered",
            _ANSWERING,
        ),
    ),
    Breakage(
        "fix: a run that does not start leaves the last one",
        _RUNS,
        "if isinstance(job, RunJob) and any(map(_begins, self.events)):",
        "if False:",
        (_NOT_STARTED, "gui/test_worker.py::test_a_run_that_does_not_start_leaves_the_run_that_is_shown"),
    ),
    Breakage(
        "fix: a run that does not start is an error",
        f"{_PLAYGROUND}/presenter.py",
        "self.view.notice.show_words(words, *fix, error=True)",
        "self.view.notice.show_words(words, *fix)",
        (_NOT_STARTED,),
    ),
    Breakage(
        "fix: the unloading of a model is shown while it takes",
        "gui/glyphscope_gui/runs/run_controller.py",
        '            self._model_changed(ModelStatus("unloading", self.model.name))\n',
        "",
        (
            "gui/test_load_panel.py::"
            "test_options_reload_the_open_model_and_unload_frees_it_until_the_next_run",
        ),
    ),
    Breakage(
        "fix: errors of forms of messages that a template does not accept are no warnings",
        "engine/glyphscope/turns/probe.py",
        " if dialect == self.dialect)",
        ")",
        (
            "engine/test_inspection.py::"
            "test_errors_in_forms_of_messages_that_the_template_does_not_accept_are_not_warnings",
        ),
    ),
    Breakage(
        "fix: choosing the open model does not change the project",
        "gui/glyphscope_gui/project/project_controller.py",
        "        if other:\n            self.set_options(model=name)",
        "        self.set_options(model=name)",
        (
            "gui/test_project_controller.py::"
            "test_choosing_the_model_that_is_in_use_changes_nothing_in_the_project",
        ),
    ),
    Breakage(
        "fix: invisible characters are found by their properties",
        "engine/glyphscope/base/visible.py",
        r"\p{Bidi_Control}\p{Default_Ignorable_Code_Point}",
        "",
        ("engine/test_visible.py::test_an_invisible_character_is_shown_by_its_number",),
    ),
    Breakage(
        "fix: invisible characters in everything that is printed",
        "engine/glyphscope/cli/output.py",
        "Segment(visible(segment.text, lines=True, single=True), segment.style)",
        "segment",
        ("engine/test_cli_foreign_text.py::test_everything_printed_has_visible_characters",),
    ),
    Breakage(
        "fix: invisible characters and lone surrogates in the approval card",
        "gui/glyphscope_gui/playground/asking.py",
        "hidden = unseen(name + argument_text(value))",
        'hidden = ""',
        ("gui/test_foreign_text.py::test_the_approval_card_shows_all_invisible_characters",),
    ),
    Breakage(
        "fix: invisible characters in the window's tables",
        "gui/glyphscope_gui/shared/plain_text.py",
        "return visible(cut_at(value, MAX_WORDS), lines=True)",
        "return value",
        ("gui/test_foreign_text_pages.py::test_the_page_of_a_server_shows_invisible_characters",),
    ),
    Breakage(
        "fix: native compilers run in a process of their own",
        "engine/glyphscope/processes/compilers/service.py",
        "            _ask(_GRAMMARS, seconds, child.compile_grammar, grammar, is_schema)",
        "            child.compile_grammar(grammar, is_schema)",
        (f"{_COMPILERS}no_command_calls_llguidance_in_its_own_process",),
    ),
    Breakage(
        "fix: native compilers have a time limit",
        "engine/glyphscope/processes/compilers/service.py",
        "return process.call(seconds, function, *arguments, **none)",
        "return process.call(600, function, *arguments, **none)",
        (f"{_COMPILERS}a_grammar_that_takes_too_long_is_rejected_in_time_and_may_be_tried_again",),
    ),
    Breakage(
        "fix: native compilers have a limit of memory",
        "engine/glyphscope/processes/child.py",
        "resource.setrlimit(resource.RLIMIT_AS, (limit, hard))",
        "pass",
        (f"{_COMPILERS}the_compilers_memory_is_limited",),
    ),
    Breakage(
        "fix: work on a grammar has a time limit",
        "engine/glyphscope/grammar/time_limit.py",
        "if left < 0:",
        "if False:",
        (f"{_COMPILERS}work_on_a_grammar_is_limited_in_time",),
    ),
    Breakage(
        "fix: a crash of a native compiler is an error in words",
        "engine/glyphscope/processes/compilers/service.py",
        "known = error.message",
        'known = ""',
        (f"{_COMPILERS}a_grammar_that_crashes_llguidance_is_rejected_and_the_next_one_answered",),
    ),
    Breakage(
        "fix: the names of fields in the mask impact are not cut",
        f"{_PLAYGROUND}/mask_impact_view.py",
        "are_hidden = room < needed + tokens",
        "are_hidden = False",
        ("gui/test_explaining.py::test_the_names_of_fields_are_not_cut",),
    ),
    Breakage(
        "fix: the names of rules keep their room in narrow costs",
        "gui/glyphscope_gui/grammar/page.py",
        "self.table.give_way(MEAN)",
        "pass",
        ("gui/test_grammar_tokens.py::test_the_names_of_rules_keep_their_room_in_narrow_costs",),
    ),
    Breakage(
        "fix: the tokens hide columns at each text size",
        "gui/glyphscope_gui/runs/token_table.py",
        "column: 0 if unused.get(column) else self.fitted_width(column)",
        "column: self.columnWidth(column)",
        ("gui/test_grammar_tokens.py::test_a_narrow_table_hides_columns_and_leaves_room_for_the_token",),
    ),
    Breakage(
        "fix: the arguments of a tool are shown in a low panel",
        "gui/glyphscope_gui/servers/call_result.py",
        "self._scroll.setVisible(view is not None)",
        "self._scroll.setVisible(True)",
        ("gui/test_servers_page.py::test_a_low_panel_shows_all_arguments_until_there_is_a_result",),
    ),
    Breakage(
        "fix: the focus moves from Run to Stop",
        "gui/glyphscope_gui/run_settings/header.py",
        "        if button.hasFocus() and not enabled:",
        "        if False:",
        ("gui/test_window.py::test_the_focus_moves_from_run_to_stop_while_the_model_runs",),
    ),
    Breakage(
        "fix: a lesson chosen in the list has the keyboard",
        "gui/glyphscope_gui/lessons/presenter.py",
        "if self.view.list.hasFocus():",
        "if False:",
        ("gui/test_lessons.py::test_a_lesson_that_is_chosen_in_the_list_has_the_keys",),
    ),
    Breakage(
        "fix: the message of a failed copy ends with its page",
        "gui/glyphscope_gui/shell/window_presenter.py",
        "self._navigation.shown.connect(lambda _page: self._status.end_result())",
        "pass",
        ("gui/test_copying.py::test_the_message_of_a_failed_copy_ends_with_the_page",),
    ),
    Breakage(
        "fix: wide pages that are hidden do not narrow the panels beside the shown one",
        "gui/glyphscope_gui/shell/navigation.py",
        "if not self.isVisible():\n            return QSize(0, 0)\n",
        "",
        (f"{_LOOKS}the_sides_have_their_widths_whatever_the_other_pages_need",),
    ),
)
