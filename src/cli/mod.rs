//! The command line: parses arguments, calls the library, prints.

/// Entry point of the `rankweave` command.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
