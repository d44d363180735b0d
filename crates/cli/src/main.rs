//! The `jackfield` binary: puts a host together with its runtimes and offers it on the command line.
//!
//! Verbs translate between words on a terminal and the host; they decide nothing that the host decides. The crate
//! `jackfield` builds the host; `compose.rs` tells it what the flags say.

mod approve;
mod args;
mod compose;
mod connect;
mod dialog;
mod exit;
mod log;
mod output;
mod signals;
mod unseen;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // A child process must be small and quick: no argument parser, no async runtime.
    jackfield::child_main();
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are answers, not mistakes.
            let code = if error.use_stderr() { exit::USAGE } else { exit::FINE };
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::from(exit::ERROR),
            };
        }
    };
    let json = args.global.json;
    log::start(args.global.verbose);
    // One thread: a call waits for a child, not for a core, and a second worker costs two wake-ups a call.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(json, &anyhow::anyhow!("cannot start the async runtime: {error}")),
    };
    let outcome = runtime.block_on(verbs::run(args));
    // A thread that waits for the terminal or a blocked file must not hold the program back.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => exit::report(json, &error),
    }
}
