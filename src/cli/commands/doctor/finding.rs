//! Something found out about a launch or a program that the user should know.

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// Good to know.
    Note,
    /// Something may go wrong.
    Warning,
    /// Nothing, or not everything, will be recorded.
    Problem,
}

impl Severity {
    pub(super) fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        }
    }
}

/// Something found out that the user should know.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub level: Severity,
    /// A name for scripts.
    pub code: &'static str,
    pub text: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// A finding without advice.
    pub(super) fn new(level: Severity, code: &'static str, text: impl Into<String>) -> Finding {
        Finding { level, code, text: text.into(), advice: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }
}
