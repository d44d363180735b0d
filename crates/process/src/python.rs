//! Python files as extensions: which interpreter runs one, and the worker that the host brings for it.

mod describe;
mod worker;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_protocol::{Launch, PythonRole};
use jackfield_runtime::{StartError, StartSpec};

use crate::spawn;

pub(crate) use describe::describe;

/// What is used when nobody says otherwise.
const DEFAULT_INTERPRETERS: [&str; 2] = ["python3", "python"];
/// The directories that hold a virtual environment.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// What the composition root decides about Python.
#[derive(Debug, Clone)]
pub struct PythonOptions {
    /// Where the worker's own files are put; belongs to the user alone.
    pub code: PathBuf,
    /// The interpreter for files without a virtual environment beside them; a path, or a word that PATH explains.
    pub interpreter: Option<String>,
}

/// Python as one runtime knows it.
#[derive(Debug, Default)]
pub(crate) struct Python {
    options: Option<PythonOptions>,
    worker: Mutex<Option<PathBuf>>,
    /// What a program that only looks for the interpreter found, by the program and the directory it looked from.
    behind: Mutex<HashMap<(PathBuf, PathBuf), PathBuf>>,
}

/// How to run one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchPlan {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
}

impl Python {
    pub(crate) fn new(options: Option<PythonOptions>) -> Arc<Self> {
        Arc::new(Self { options, ..Self::default() })
    }

    /// The program and the arguments that run the file of `spec`.
    ///
    /// # Errors
    /// There is no interpreter, or the worker cannot be put in its place.
    pub(crate) fn launch_plan(
        &self,
        spec: &StartSpec,
        entry: &str,
        role: PythonRole,
    ) -> Result<LaunchPlan, StartError> {
        let file = spec.dir.join(entry);
        let program = self.interpreter(spec, &file)?;
        let worker = self.worker(&file)?;
        let words = [
            worker.join("main.py").to_string_lossy().into_owned(),
            role.as_str().to_owned(),
            file.to_string_lossy().into_owned(),
            spec.manifest.name.clone(),
        ];
        Ok(LaunchPlan { program, args: words.to_vec() })
    }

    /// A virtual environment beside the file, else the configured interpreter, else what PATH has.
    fn interpreter(&self, spec: &StartSpec, file: &Path) -> Result<PathBuf, StartError> {
        let shown = file.display();
        if let Some(environment) = environment_beside(file) {
            let found = programs_in(&environment).find(|program| program.is_file());
            return found.ok_or_else(|| {
                StartError::NotRunnable(format!(
                    "{shown}: the virtual environment {0} has no interpreter that works; make it again with \
                     `python3 -m venv --clear {0}`",
                    environment.display()
                ))
            });
        }
        let configured = self.options.as_ref().and_then(|options| options.interpreter.as_deref());
        let found = match configured {
            Some(word) => spawn::resolve(spec, word).map_err(|error| {
                StartError::NotRunnable(format!(
                    "{shown}: the interpreter of the table [python] in config.toml does not run: {error}"
                ))
            })?,
            None => DEFAULT_INTERPRETERS.iter().find_map(|word| spawn::resolve(spec, word).ok()).ok_or_else(|| {
                StartError::NotRunnable(format!(
                    "{shown}: no Python is on PATH ({}); install python3 3.9 or newer, name one as `interpreter` in the \
                     table [python] of config.toml, or make a virtual environment beside the file",
                    spawn::search_path(spec)
                ))
            })?,
        };
        let behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (found, spec.dir.clone());
        Ok(behind.get(&key).filter(|program| program.is_file()).cloned().unwrap_or(key.0))
    }

    /// Remembers the interpreter behind a script that only looks for it: such a script may take longer than the start.
    pub(crate) fn learnt(&self, spec: &StartSpec, program: &Path, interpreter: &str) {
        let interpreter = Path::new(interpreter);
        if interpreter.is_absolute() && interpreter != program && interpreter.is_file() && spawn::is_script(program) {
            let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
            behind.insert((program.to_owned(), spec.dir.clone()), interpreter.to_owned());
        }
    }

    /// The directory with the worker's files, written and checked once by each host.
    fn worker(&self, file: &Path) -> Result<PathBuf, StartError> {
        let Some(options) = &self.options else {
            return Err(StartError::Unsupported(format!(
                "this host does not run Python files such as {}",
                file.display()
            )));
        };
        let mut known = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.join("main.py").is_file()) {
            return Ok(known.clone());
        }
        let place = worker::place(&options.code).map_err(|error| {
            StartError::NotRunnable(format!(
                "{}: the Python worker cannot be written to {}: {error}",
                file.display(),
                options.code.display()
            ))
        })?;
        Ok(known.insert(place).clone())
    }
}

/// The virtual environment of a file: in its directory, or in the one above when that is the root of `tools` and
/// `channels`. No further: what lies outside is not what somebody trusted.
fn environment_beside(file: &Path) -> Option<PathBuf> {
    let dir = file.parent()?;
    let folders = [PythonRole::Tool.folder(), PythonRole::Channel.folder()];
    let is_part = dir.file_name().is_some_and(|name| folders.iter().any(|folder| name == OsStr::new(folder)));
    let above = dir.parent().filter(|_| is_part);
    let places = [Some(dir), above].into_iter().flatten();
    places
        .flat_map(|place| ENVIRONMENTS.map(|name| place.join(name)))
        .find(|environment| environment.join("pyvenv.cfg").is_file())
}

fn programs_in(environment: &Path) -> impl Iterator<Item = PathBuf> {
    let names =
        if cfg!(windows) { ["Scripts/python.exe", "Scripts/python3.exe"] } else { ["bin/python3", "bin/python"] };
    let environment = environment.to_owned();
    names.into_iter().map(move |name| environment.join(name))
}

/// What a Python file is called where something went wrong with it.
pub(crate) fn file_of(spec: &StartSpec) -> Option<PathBuf> {
    match &spec.manifest.launch {
        Launch::Python { entry, .. } => Some(spec.dir.join(entry)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_counts_where_it_is_trusted_with_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("extensions/tools/x.py");
        let make = |place: &str| {
            let place = dir.path().join(place);
            std::fs::create_dir_all(&place).expect("a directory");
            std::fs::write(place.join("pyvenv.cfg"), "").expect("a file");
            place
        };
        make(".venv");
        assert_eq!(environment_beside(&file), None, "the project's own is not the extensions'");
        let above = make("extensions/venv");
        assert_eq!(environment_beside(&file), Some(above));
        let beside = make("extensions/tools/.venv");
        assert_eq!(environment_beside(&file), Some(beside));
        let loose = dir.path().join("extensions/loose/x.py");
        assert_eq!(environment_beside(&loose), None);
    }
}
