//! What a launch reads: the variables of its environment, and the executable of the program.

use rankweave::options::{Settings, TABLE};
use rankweave::store::{build_id, identity};
use std::io::Cursor;
use std::path::Path;

/// Any values of the variables give settings, with an error for each that was ignored.
pub fn settings(bytes: &[u8]) {
    let Some(values) = super::decoded::<Vec<String>>(bytes) else { return };
    let (_, errors) = Settings::from_env(|name| {
        let k = TABLE.iter().position(|option| option.env == name)?;
        values.get(k).cloned()
    });
    assert!(errors.iter().all(|error| error.place().is_some()));
}

/// An executable of any content and any command line give an identity or an error.
pub fn identities(bytes: &[u8]) {
    let Some((bytes, args)) = super::decoded::<(Vec<u8>, Vec<String>)>(bytes) else { return };
    let _ = build_id(&mut Cursor::new(&bytes));
    for exe in ["/bin/python3", "/bin/java", "/bin/bash"] {
        let _ = identity(Path::new(exe), &args);
    }
}
