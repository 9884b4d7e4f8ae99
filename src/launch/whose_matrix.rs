//! The sentence that tells the user whose matrix a launch uses: that of a launch with the same arguments, of another
//! launch, or an imported one.

use crate::store::{Fit, Fitting, LaunchMode, Record};

/// The most characters of the arguments that are shown.
const LONGEST: usize = 100;

/// The verbosity from which on the user is told whose matrix a launch uses and why, and the sentence about it.
pub(super) fn whose_matrix(fitting: &Fitting) -> (u8, String) {
    let (level, sentence) = whose(fitting);
    match &fitting.other_store {
        Some(store) => {
            (level.min(1), format!("{sentence}; it is in the store {}", store.display()))
        }
        None => (level, sentence),
    }
}

fn whose(Fitting { record, fit, .. }: &Fitting) -> (u8, String) {
    let arguments = words_of_arguments(record);
    match *fit {
        Fit::OtherKind | Fit::Chosen if record.launch.mode == LaunchMode::Import => {
            (2, "an imported matrix is used".into())
        }
        Fit::SameKind => (2, "the matrix of a launch with the same arguments is used".into()),
        Fit::Chosen => (
            1,
            format!(
                "the matrix that 'rankweave use' chose is used; it is that of a launch {arguments}"
            ),
        ),
        Fit::OtherKind => (
            1,
            format!(
                "no launch with these arguments and this MPI library is stored; the matrix of a launch {arguments} \
                 is used, and may fit this launch less well"
            ),
        ),
    }
}

/// The arguments of a recorded launch, in words.
fn words_of_arguments(record: &Record) -> String {
    let arguments = record.command.get(1..).unwrap_or_default().join(" ");
    let shown: String = arguments.chars().take(LONGEST).collect();
    let more = if shown.len() < arguments.len() { "…" } else { "" };
    match shown.is_empty() {
        true => "without arguments".into(),
        false => format!("with the arguments '{shown}{more}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::CommMatrix;

    #[test]
    fn a_launch_without_arguments_is_told_as_such() {
        let mut record = Record::of_matrix("k", CommMatrix::empty(2));
        let said = |record: &Record| {
            let (record, fit) = (record.clone(), Fit::OtherKind);
            whose_matrix(&Fitting { record, fit, other_store: None }).1
        };
        assert!(said(&record).contains("of a launch without arguments is used"));
        record.command = vec!["app".into(), "-n".into(), "3".into()];
        assert!(said(&record).contains("of a launch with the arguments '-n 3' is used"));
        let other_store = Some("/project/shared".into());
        let (level, said) = whose_matrix(&Fitting { record, fit: Fit::SameKind, other_store });
        assert!(level == 1 && said.ends_with("it is in the store /project/shared"), "{said}");
    }
}
