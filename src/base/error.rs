//! The one error type of the library: says what went wrong, where, and what to do about it.
//!
//! An error that reaches a user has these three parts, as far as they are known: "invalid input" alone
//! is of no use in the log of a job that ran three hours ago.

use std::fmt;

/// Result of every fallible operation in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of problem that an [`Error`] reports. Callers decide by it and never by the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A file or directory could not be read or written.
    Io,
    /// Input that does not follow its format.
    Format,
    /// Input that a newer version of rankweave has written.
    NewerVersion,
    /// The request cannot be fulfilled with these inputs (sizes that do not fit, impossible constraints).
    Infeasible,
    /// The request itself is wrong (unknown algorithm, bad option value).
    Usage,
    /// Nothing matches what was asked for.
    NotFound,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 6] = [
        ErrorKind::Io,
        ErrorKind::Format,
        ErrorKind::NewerVersion,
        ErrorKind::Infeasible,
        ErrorKind::Usage,
        ErrorKind::NotFound,
    ];

    /// What a user can do about an error that has no advice of its own.
    fn advice(self) -> &'static str {
        match self {
            ErrorKind::Io => {
                "check that the path exists, that its permissions allow this, and that the disk has room"
            }
            ErrorKind::Format => {
                "check that the file is complete and of the kind that was meant; 'rankweave import --help' and \
                 'rankweave topo --help' list the kinds"
            }
            ErrorKind::NewerVersion => "use the version of rankweave that wrote it, or a newer one",
            ErrorKind::Infeasible => {
                "change one of the inputs that the message names; --help of the command explains its options"
            }
            ErrorKind::Usage => "--help of the command explains its options, with examples",
            ErrorKind::NotFound => "check the spelling; 'rankweave list' shows what is stored",
        }
    }
}

/// An error with its place and advice; shown as `what (in where); try: advice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    place: Option<String>,
    advice: Option<String>,
}

impl Error {
    /// A new error that says only what went wrong; add the rest with [`Error::at`] and [`Error::advise`].
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error { kind, what: what.into(), place: None, advice: None }
    }

    /// Adds where it happened: a path, a path with a line number, an option.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The error with advice in any case: that of its kind, if it has none of its own.
    #[must_use]
    pub fn advised(self) -> Self {
        let advice = self.advice.clone().unwrap_or_else(|| self.kind.advice().to_string());
        self.advise(advice)
    }

    /// An I/O error on `path` while doing `what`.
    pub fn io(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Error::new(ErrorKind::Io, format!("{what}: {error}")).at(path.display())
    }

    /// The kind of problem.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What went wrong and where, without the advice.
    pub fn problem(&self) -> String {
        let place = self.place.as_ref().map(|place| format!(" (in {place})")).unwrap_or_default();
        format!("{}{place}", self.what)
    }

    /// What the user can do about it, if known.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Where it happened, if known.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem())?;
        if let Some(advice) = &self.advice {
            write!(f, "; try: {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_where_and_advice() {
        let error = Error::new(ErrorKind::Format, "odd header").at("a.mtx:1").advise("check it");
        assert_eq!(error.to_string(), "odd header (in a.mtx:1); try: check it");
        assert_eq!(error.kind(), ErrorKind::Format);
        assert_eq!(error.place(), Some("a.mtx:1"));
        assert_eq!(error.clone().advised(), error);
    }

    #[test]
    fn every_kind_of_error_has_advice() {
        for kind in ErrorKind::ALL {
            let error = Error::new(kind, "it failed");
            assert_eq!(error.advice(), None);
            let text = error.advised().to_string();
            let advice = text.strip_prefix("it failed; try: ").unwrap();
            assert!(advice.len() > 20 && !advice.ends_with('.'), "{text}");
        }
    }
}
