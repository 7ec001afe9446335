"""The one stream: everything below makes these events, everything above only reads them.

A run is a sequence of `RunEvent`s that starts with `RunStarted` and ends with `RunFinished` or `RunFailed`.
The window, the command line (one JSON object per line, the event's name in snake_case under `type`), the recorder and
the tests all read this stream; a replayed run is the same stream from a file.

Characters are Unicode code points of one stage's generated text, counted from 0. Tokens are counted from 0 in the
same text. Times are seconds. `path` is a JSON Pointer into the call as it was written (`/max_results` in the flat
shape, `/args/max_results` in the tool-args shape); `rule` is a JSON Pointer into the `parameters` of the tool.
"""

from glyphscope.events.answer import ANSWER_CHOICES, CALL, Answer, AnswerKind, described_answer
from glyphscope.events.base import Code, ModelInfo, RunEvent, Status, TemplateForm
from glyphscope.events.choices import (
    AUTO,
    NOTATIONS,
    SHAPES,
    STRATEGIES,
    TOOL_CHOICES,
    AnyNotation,
    Approval,
    ArgumentOrder,
    ConstrainFrom,
    ConstraintKind,
    ControlTexts,
    EvidenceKind,
    NativeForm,
    Notation,
    Shape,
    StopOn,
    Strategy,
    Strict,
    Thinking,
    ToolSearch,
    default_order,
    notation_members,
)
from glyphscope.events.evidence import (
    BEGUN,
    Alternative,
    ControlText,
    Filter,
    Narrowed,
    Origin,
    PromptPart,
    Spans,
    TokenStep,
)
from glyphscope.events.expected import ExpectedAnswer, ExpectedCall, FinalText
from glyphscope.events.load_options import DEFAULT_LOAD, MAX_SEQUENCES, KvType, LoadOptions
from glyphscope.events.request import (
    DEFAULT_CHAT,
    ApprovalRule,
    BranchPoint,
    ChatOptions,
    LoopSettings,
    Message,
    PrefixPart,
    Relaxed,
    RepairSettings,
    RouterSettings,
    RunRequest,
    ToolCall,
    under_constraint,
)
from glyphscope.events.sampling import Sampling, read_bias
from glyphscope.events.setting import (
    Choice,
    Field,
    Setting,
    is_needed,
    pair_value,
    pairs_line,
    read_pairs,
    read_pairs_line,
    settings_of,
    written_pairs,
    wrong_value,
    wrong_values,
)
from glyphscope.events.stages import (
    CandidatesFound,
    Change,
    ConstraintReady,
    Extracted,
    FinalAnswer,
    LimitReached,
    NameCandidate,
    QuestionAnswered,
    QuestionAsked,
    RepairTried,
    Routed,
    StageFinished,
    StageKind,
    StageStarted,
    ToolsDeferred,
    ToolsSearched,
    TransformActed,
)
from glyphscope.events.stream import (
    Aborted,
    AnyEvent,
    CallReady,
    EndReason,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    PromptEvaluated,
    PromptRendered,
    RunFailed,
    RunFinished,
    RunStarted,
    SegmentClosed,
    SegmentKind,
    SegmentOpened,
    StopStringFound,
    Token,
    ToolKnown,
    Violation,
    add_violation,
    decode_event,
    encode_event,
    violations_of,
)
from glyphscope.events.tools import (
    ApprovalGiven,
    ApprovalNeeded,
    ToolContent,
    ToolProgressed,
    ToolResult,
    ToolStarted,
)
