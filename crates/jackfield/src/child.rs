//! The child processes in which a host runs extension code: which program they are, and what that program does.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The hidden first argument of a keeper: it stands between the host and one child process.
pub(crate) const KEEPER_WORD: &str = "__keep";

/// The hidden first argument of the process that runs scripts.
pub(crate) const ENGINE_WORD: &str = "__js";

/// The hidden first argument of the process that compiles one WASM component.
pub(crate) const COMPILER_WORD: &str = "__compile";

/// Whether [`child_main`] ran in this process, early enough to be of use.
static CHILD_MAIN_RAN: AtomicBool = AtomicBool::new(false);

/// The program that a host starts as its own child processes.
///
/// A keeper ends an extension's process tree when the host dies. Scripts run in an engine process. WASM components are
/// compiled in a process of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Children {
    /// This program. Its `main` must call [`child_main`]; a host does not open otherwise.
    #[default]
    ThisProgram,
    /// Another program that calls [`child_main`], such as the `jackfield` binary.
    Program(PathBuf),
    /// No such processes. Scripts run on threads of this process, and WASM components are compiled in it. Extensions that
    /// are programs still run, but a host that is killed leaves those behind that do not end with their input.
    Without,
}

impl Children {
    /// The program; nothing where there shall be none.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        match self {
            Self::ThisProgram => std::env::current_exe().ok(),
            Self::Program(program) => Some(program.clone()),
            Self::Without => None,
        }
    }

    /// Whether the program would run an extension's code, rather than start all over again.
    pub(crate) fn are_ready(&self) -> bool {
        match self {
            Self::ThisProgram => CHILD_MAIN_RAN.load(Ordering::Relaxed),
            Self::Program(_) | Self::Without => true,
        }
    }

    /// The program with a hidden word, as runtimes want it.
    #[cfg(any(feature = "js", feature = "wasm"))]
    pub(crate) fn command(&self, word: &str) -> Option<Vec<String>> {
        Some(vec![self.program()?.to_str()?.to_owned(), word.to_owned()])
    }
}

/// Does the work of a child process and exits, if a host started this process as its child. Returns otherwise.
///
/// Call it first thing in a plain `fn main`, before threads and before the async runtime: the process that runs scripts
/// forks, and only a process with one thread may. A call within an async runtime does not count, and
/// [`HostBuilder::open`](crate::HostBuilder::open) says so.
///
/// ```standalone_crate
/// # fn run_agent() -> impl Future<Output = ()> { async {} }
/// fn main() -> std::io::Result<()> {
///     jackfield::child_main();
///     tokio::runtime::Runtime::new()?.block_on(run_agent());
///     Ok(())
/// }
/// ```
pub fn child_main() {
    let mut words = std::env::args_os().skip(1);
    let code = match words.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(KEEPER_WORD) => keep(words),
        Some(ENGINE_WORD) => run_scripts(),
        Some(COMPILER_WORD) => compile(),
        _ => {
            if tokio::runtime::Handle::try_current().is_err() {
                CHILD_MAIN_RAN.store(true, Ordering::Relaxed);
            }
            return;
        }
    };
    std::process::exit(i32::from(code));
}

#[cfg(feature = "process")]
fn keep(words: impl Iterator<Item = std::ffi::OsString>) -> u8 {
    u8::try_from(jackfield_process::keeper_main(words)).unwrap_or(1)
}

#[cfg(not(feature = "process"))]
fn keep(_words: impl Iterator<Item = std::ffi::OsString>) -> u8 {
    not_built_in("process")
}

#[cfg(feature = "js")]
fn run_scripts() -> u8 {
    jackfield_js::child();
    0
}

#[cfg(not(feature = "js"))]
fn run_scripts() -> u8 {
    not_built_in("js")
}

#[cfg(feature = "wasm")]
fn compile() -> u8 {
    u8::from(!jackfield_wasm::child())
}

#[cfg(not(feature = "wasm"))]
fn compile() -> u8 {
    not_built_in("wasm")
}

#[cfg(not(all(feature = "process", feature = "js", feature = "wasm")))]
fn not_built_in(feature: &str) -> u8 {
    eprintln!("jackfield: this program is built without the feature {feature}");
    // The status with which a keeper says that it cannot do its work.
    125
}
