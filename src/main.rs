//! The `rankweave` command; everything is in [`rankweave::cli`].

fn main() -> std::process::ExitCode {
    rankweave::cli::main()
}
