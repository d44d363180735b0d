//! The `jackfield` binary: puts a host together with its runtimes and offers it on the command line.
//!
//! Verbs translate between words on a terminal and the host; they decide nothing that the host decides. `compose.rs` is
//! the only place that builds a host.

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
    // The keeper must be small and quick: no argument parser, no async runtime.
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_ref().is_some_and(|word| word == compose::KEEPER_WORD) {
        return ExitCode::from(u8::try_from(jackfield_process::keeper_main(words)).unwrap_or(1));
    }
    if first.as_ref().is_some_and(|word| word == compose::COMPILER_WORD) {
        return if jackfield_wasm::child() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if first.is_some_and(|word| word == compose::ENGINE_WORD) {
        jackfield_js::child();
        return ExitCode::SUCCESS;
    }
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
