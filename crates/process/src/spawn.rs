//! Finding the program of an extension and starting it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use jackfield_protocol::ExtensionId;
use jackfield_runtime::{StartError, StartSpec};
use tokio::process::{Child, Command};

use crate::keeper::MEMORY_FLAG;
use crate::{Keeper, os};

/// Where programs are looked for when the environment names no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts `command` with exactly the environment of `spec`, in the extension's folder, as the leader of a new group. With a
/// keeper the child is the keeper.
///
/// # Errors
/// The program is not there, cannot be run, or the system refused to start it.
pub(crate) fn spawn(
    spec: &StartSpec,
    command: &str,
    args: &[String],
    keeper: Option<&Keeper>,
) -> Result<Child, StartError> {
    let program = resolve(spec, command)?;
    let mut child = match keeper {
        Some(keeper) => {
            let mut child = Command::new(&keeper.program);
            child.args(&keeper.args).arg(std::process::id().to_string());
            if let Some(most) = spec.max_memory_mb {
                child.arg(MEMORY_FLAG).arg(most.to_string());
            }
            child.arg("--").arg(&program);
            child
        }
        None => Command::new(&program),
    };
    child.args(args).current_dir(&spec.dir).env_clear();
    child.envs(spec.env.iter().map(|(name, value)| (name, value)));
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    os::own_group(&mut child);
    child.spawn().map_err(|error| {
        let through = keeper.map(|keeper| format!(" through {}", keeper.program.display())).unwrap_or_default();
        not_runnable(&spec.manifest.id, format!("cannot start {}{through}: {error}", program.display()))
    })
}

fn not_runnable(id: &ExtensionId, text: String) -> StartError {
    StartError::NotRunnable(format!("extension {id}: {text}"))
}

/// An absolute path as it is, one with a separator below the extension's folder, a bare word from PATH.
pub(crate) fn resolve(spec: &StartSpec, command: &str) -> Result<PathBuf, StartError> {
    let id = &spec.manifest.id;
    let fail = |text| Err(not_runnable(id, text));
    if command.trim().is_empty() {
        return fail("its manifest names no program; set one".to_owned());
    }
    if command.contains('\0') {
        return fail("the program's name holds a NUL byte; correct it in the manifest".to_owned());
    }
    let path = search_path(spec);
    let is_word = !command.contains(std::path::is_separator) && !matches!(command, "." | "..");
    let program = if is_word {
        match look_up(&path, command) {
            Some(program) => program,
            None => {
                return fail(format!(
                    "program {command:?} is not on PATH ({path}); install it, or write ./{command} if it lies in {}",
                    spec.dir.display()
                ));
            }
        }
    } else {
        spec.dir.join(command)
    };
    match std::fs::metadata(&program) {
        Err(error) => return fail(format!("cannot find {}: {error}", program.display())),
        Ok(meta) if meta.is_dir() => return fail(format!("{} is a folder, not a program", program.display())),
        Ok(_) if !os::is_executable(&program) => {
            return fail(format!("{0} is not executable; run chmod +x {0}", program.display()));
        }
        Ok(_) => {}
    }
    match missing_interpreter(&program, &path) {
        Some(text) => fail(text),
        None => Ok(program),
    }
}

pub(crate) fn search_path(spec: &StartSpec) -> String {
    let set = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    set.map(|(_, value)| value.clone()).filter(|path| !path.is_empty()).unwrap_or_else(|| DEFAULT_PATH.to_owned())
}

fn look_up(path: &str, word: &str) -> Option<PathBuf> {
    // A relative entry of PATH would mean another folder in the child, whose working directory is the extension's.
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(word))
        .find(|file| file.is_file() && os::is_executable(file))
}

/// Whether a program begins as a script does.
pub(crate) fn is_script(program: &Path) -> bool {
    let mut head = [0; 2];
    std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == *b"#!")
}

/// What is wrong with the first line of a script. The system only says "not found", which everyone reads as the script
/// itself.
fn missing_interpreter(program: &Path, path: &str) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(program).ok()?.take(512).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let file = program.display();
    if line.ends_with('\r') {
        return Some(format!(
            "the first line of {file} ends with a carriage return, so its interpreter is not found; save the file with \
             Unix line ends"
        ));
    }
    let mut words = line.split_ascii_whitespace();
    let interpreter = words.next()?;
    if !Path::new(interpreter).exists() {
        return Some(format!(
            "the interpreter {interpreter:?} in the first line of {file} does not exist; install it or change that line"
        ));
    }
    if Path::new(interpreter).file_name()? != "env" {
        return None;
    }
    let wanted = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    let found = if wanted.contains('/') { Path::new(wanted).exists() } else { look_up(path, wanted).is_some() };
    (!found).then(|| {
        format!(
            "the interpreter {wanted:?} in the first line of {file} is not on PATH ({path}); install it or change that line"
        )
    })
}
