//! A finding: a fact about a launch or a program that the user should know.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum Severity {
    /// It changes nothing in what is recorded.
    Note,
    /// Something may go wrong.
    Warning,
    /// Nothing, or not everything, will be recorded.
    Problem,
}

impl Severity {
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        }
    }

    /// A finding of this severity, without advice.
    pub(in crate::cli) fn finding(self, code: &'static str, text: impl Into<String>) -> Finding {
        Finding { level: self, code, text: text.into(), advice: None }
    }
}

/// A finding of the severity [`Severity::Note`].
pub(in crate::cli) fn note(code: &'static str, text: impl Into<String>) -> Finding {
    Severity::Note.finding(code, text)
}

/// A finding of the severity [`Severity::Warning`].
pub(in crate::cli) fn warning(code: &'static str, text: impl Into<String>) -> Finding {
    Severity::Warning.finding(code, text)
}

/// A finding of the severity [`Severity::Problem`].
pub(in crate::cli) fn problem(code: &'static str, text: impl Into<String>) -> Finding {
    Severity::Problem.finding(code, text)
}

/// A fact that the user should know.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Finding {
    pub level: Severity,
    /// A name for scripts.
    pub code: &'static str,
    pub text: String,
    /// What the user can do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// The same finding with advice.
    pub(in crate::cli) fn advise(self, advice: impl Into<String>) -> Finding {
        Finding { advice: Some(advice.into()), ..self }
    }
}
