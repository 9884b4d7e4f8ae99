//! A finding: a fact about a launch or a program that the user should know.

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// It changes nothing in what is recorded.
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

    /// A finding of this severity. Without advice, `advice` is empty.
    pub(super) fn finding(
        self,
        code: &'static str,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) -> Finding {
        let advice = Some(advice.into()).filter(|advice| !advice.is_empty());
        Finding { level: self, code, text: text.into(), advice }
    }
}

/// A fact that the user should know.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub level: Severity,
    /// A name for scripts.
    pub code: &'static str,
    pub text: String,
    /// What to do about it.
    pub advice: Option<String>,
}
