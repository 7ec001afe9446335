"""Match texts against any context-free grammar: acceptance, the failing character, continuations, active rules."""
