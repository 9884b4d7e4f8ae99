//! Why the launcher places nothing: one sentence for the user, and what to do.

use crate::base::error::Error;
use crate::cli::inspect::OptionWords;
use crate::launch::Message;

/// Why nothing is placed before a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Refusal {
    /// What is in the way.
    pub(super) what: String,
    /// What the user can do.
    pub(super) advice: Option<String>,
    /// Whether this is the usual course of things, which only users who asked for more messages are told.
    pub(super) is_usual: bool,
}

impl Refusal {
    /// A refusal that the user has to know.
    pub(super) fn new(what: impl Into<String>, advice: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), advice: Some(advice.into()), is_usual: false }
    }

    /// A refusal that is the usual course of things.
    pub(super) fn usual(what: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), advice: None, is_usual: true }
    }

    /// The launcher's order stays, for this reason: the usual course of things.
    pub(super) fn kept(why: &Message) -> Refusal {
        let advice = why.what_to_do().map(str::to_string);
        Refusal { advice, ..Refusal::usual(why.happened()) }
    }

    /// An option by which the user places the ranks.
    pub(super) fn user(option: &OptionWords) -> Refusal {
        let name = option.name.as_str();
        let dashes = if name.len() > 1 { "--" } else { "-" };
        match &option.value {
            Some(value) => Refusal::decided(&format!("{dashes}{name} {value}")),
            None => Refusal::decided(&format!("{dashes}{name}")),
        }
    }

    /// An option or variable by which the user places the ranks.
    pub(super) fn decided(option: &str) -> Refusal {
        Refusal::new(
            format!("the launch places its ranks itself ({option})"),
            "leave this option out, or use --place library",
        )
    }

    /// A description of hosts, or a topology, that cannot be read.
    pub(in crate::cli) fn unreadable(error: Error) -> Refusal {
        let advice = error.advice().map(str::to_string);
        Refusal { what: error.problem(), advice, is_usual: false }
    }

    /// Whether only users who asked for more messages are told.
    pub(in crate::cli) fn is_usual(&self) -> bool {
        self.is_usual
    }

    /// What is in the way, in one sentence.
    pub(in crate::cli) fn what(&self) -> &str {
        &self.what
    }

    /// What the user can do.
    pub(in crate::cli) fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// The message. `meaning` is what it means for this launch.
    pub(in crate::cli) fn message(&self, meaning: &str) -> Message {
        let message = Message::new(self.what.clone()).meaning(meaning);
        match &self.advice {
            Some(advice) => message.advice(advice.clone()),
            None => message,
        }
    }
}
