//! Any values of the variables give settings, with an error for each that was ignored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::options::{Settings, TABLE};

fuzz_target!(|values: Vec<String>| {
    let (_, errors) = Settings::from_env(|name| {
        let k = TABLE.iter().position(|option| option.env == name)?;
        values.get(k).cloned()
    });
    assert!(errors.iter().all(|error| error.place().is_some()));
});
