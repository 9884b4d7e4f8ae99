//! Enumerations whose values have names that users write.

use super::error::{Error, ErrorKind};
use super::nearest::one_of;

/// Defines an enumeration, and the name of each value: `ALL`, `name`, and reading by name.
macro_rules! named_enum {
    (
        $(#[$about:meta])*
        pub enum $Type:ident, $what:literal {
            $($(#[$meaning:meta])* $Value:ident = $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Type {
            $($(#[$meaning])* $Value,)+
        }

        impl $Type {
            /// All values, in the order of their definition.
            pub const ALL: [$Type; [$($name),+].len()] = [$($Type::$Value),+];

            /// Name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $($Type::$Value => $name,)+
                }
            }
        }

        impl std::str::FromStr for $Type {
            type Err = $crate::base::error::Error;

            fn from_str(name: &str) -> $crate::base::error::Result<Self> {
                let value = $Type::ALL.into_iter().find(|value| value.name() == name);
                value.ok_or_else(|| $crate::base::named_enum::unknown($what, name, &[$($name),+]))
            }
        }
    };
}
pub(crate) use named_enum;

/// The error for a name that does not exist; `names` are those that do.
pub(crate) fn unknown(what: &str, name: &str, names: &[&str]) -> Error {
    Error::new(ErrorKind::Usage, format!("unknown {what} '{name}'")).advise(one_of(name, names))
}
