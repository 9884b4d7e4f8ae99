//! A message to the user, as a value. The code that makes the message does not print it.

use crate::base::error::Error;
use std::fmt;

/// One line for the user: what happened, what it means for this launch, what to do. It is shown as
/// `what happened; what it means; try: advice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    happened: String,
    meaning: Option<String>,
    advice: Option<String>,
}

impl Message {
    /// A message that says only what happened; [`Message::meaning`] and [`Message::advice`] add the rest.
    pub fn new(happened: impl Into<String>) -> Self {
        Message { happened: happened.into(), meaning: None, advice: None }
    }

    /// What happened, without the rest.
    pub fn happened(&self) -> &str {
        &self.happened
    }

    /// Puts words in front of what happened.
    #[must_use]
    pub(super) fn beginning(mut self, words: &str) -> Self {
        self.happened.insert_str(0, words);
        self
    }

    /// What the user can do, if that was said.
    pub fn what_to_do(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Adds what it means for this launch.
    #[must_use]
    pub fn meaning(mut self, meaning: impl Into<String>) -> Self {
        self.meaning = Some(meaning.into());
        self
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// The error is what happened. Its advice comes behind the meaning, which the caller adds.
impl From<&Error> for Message {
    fn from(error: &Error) -> Self {
        let advice = error.advice().map(str::to_string);
        Message { happened: error.problem(), meaning: None, advice }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.happened)?;
        if let Some(meaning) = &self.meaning {
            write!(f, "; {meaning}")?;
        }
        if let Some(advice) = &self.advice {
            write!(f, "; try: {advice}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    #[test]
    fn says_what_happened_what_it_means_and_what_to_do() {
        let message = Message::new("the disk is full");
        assert_eq!(message.to_string(), "the disk is full");
        let message = message.meaning("nothing is stored").advice("another disk");
        assert_eq!(message.to_string(), "the disk is full; nothing is stored; try: another disk");
    }

    #[test]
    fn the_advice_of_an_error_comes_last() {
        let error = Error::new(ErrorKind::Io, "the disk is full").at("/data");
        let message = Message::from(&error).meaning("nothing is stored");
        assert_eq!(message.to_string(), "the disk is full (in /data); nothing is stored");
        let message = Message::from(&error.advise("another disk")).meaning("nothing is stored");
        assert_eq!(
            message.to_string(),
            "the disk is full (in /data); nothing is stored; try: another disk"
        );
    }
}
