//! What the user is told, as a value: whoever decides does not print.

use std::fmt;

/// One line for the user: what happened, what it means for this launch, what to do. Shown as
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

    #[test]
    fn says_what_happened_what_it_means_and_what_to_do() {
        let message = Message::new("the disk is full");
        assert_eq!(message.to_string(), "the disk is full");
        let message = message.meaning("nothing is stored").advice("another disk");
        assert_eq!(message.to_string(), "the disk is full; nothing is stored; try: another disk");
    }
}
