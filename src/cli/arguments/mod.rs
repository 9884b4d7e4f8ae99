//! Options that several commands share, and the values that are made from them.

pub(in crate::cli) mod bound;
pub(in crate::cli) mod full_paths;
pub(in crate::cli) mod instance;
pub(in crate::cli) mod number_file;
pub(in crate::cli) mod origin;
pub(in crate::cli) mod record_filter;
pub(in crate::cli) mod selection;
pub(in crate::cli) mod setting_files;
pub(in crate::cli) mod settings;
pub(in crate::cli) mod spelling;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::raw_words::encoded;
use clap::builder::{OsStringValueParser, TypedValueParser};
use regex::{Regex, RegexBuilder};
use std::time::Duration;

/// A time limit: seconds, or a number with a unit such as `10m`.
pub(in crate::cli) fn time_limit(text: &str) -> std::result::Result<Duration, String> {
    crate::options::seconds(text).map_err(|e| e.to_string())
}

/// The parser of a word of a launch. The word is passed on byte for byte, also if it is not UTF-8.
pub(in crate::cli) fn launch_word() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|word| encoded(&word))
}

/// The regular expression that was given with `option`. `^` and `$` match at the ends of each line.
pub(in crate::cli) fn regular_expression(text: &str, option: &str) -> Result<Regex> {
    RegexBuilder::new(text).multi_line(true).size_limit(1 << 22).build().map_err(|e| {
        let what = e.to_string().lines().last().unwrap_or_default().trim().to_string();
        Error::new(ErrorKind::Usage, format!("'{text}' is no regular expression: {what}"))
            .at(option)
    })
}
