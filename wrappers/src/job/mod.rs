//! The life of a job: start, agreement, places, search for a rank order, standard input, end.

pub mod agreement;
pub mod constructed;
pub mod constructor_facts;
pub mod counter_files;
pub mod early_messages;
pub mod failure;
pub mod finish;
pub mod flush;
pub mod hooks;
pub mod launcher_rank;
pub mod locate;
pub mod places;
pub mod rank_mixing;
pub mod rank_zero;
pub mod running;
pub mod search;
pub mod shared_search;
pub mod start;
pub mod stdin;
pub mod survey;
pub mod survey_round;
