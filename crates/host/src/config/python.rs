//! The table `[python]`: which interpreter runs Python files, and for how long one stays without a call.

use std::path::Path;
use std::time::Duration;

use jackfield_files::Home;
use toml::{Table, Value};

use super::Config;
use crate::host::OpenError;

const KEYS: [&str; 2] = ["interpreter", "idle_ms"];
const IDLE: Duration = Duration::from_secs(60);

/// What the configuration says about Python files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSettings {
    /// For files without a virtual environment beside them; a path, or a word that PATH explains.
    pub interpreter: Option<String>,
    /// How long the process of a tool stays without a call; zero means for ever.
    pub idle: Duration,
}

impl Default for PythonSettings {
    fn default() -> Self {
        Self { interpreter: None, idle: IDLE }
    }
}

impl PythonSettings {
    /// Reads what the configuration of this home says about Python, for the code that makes the runtime.
    ///
    /// # Errors
    /// As [`crate::Host::open`]: when the file is there and cannot be read or understood.
    pub fn of(home: &Home) -> Result<Self, OpenError> {
        Config::read(home).map(|config| config.python)
    }

    pub(super) fn read(document: &Table, file: &Path) -> Result<(Self, Vec<String>), String> {
        let wrong = |key: &str, expected: &str, found: &Value| {
            format!("cannot read {}: {key}: expected {expected}, found {found}", file.display())
        };
        let mut settings = Self::default();
        let table = match document.get("python") {
            None => return Ok((settings, Vec::new())),
            Some(Value::Table(table)) => table,
            Some(other) => return Err(wrong("python", "a table", other)),
        };
        if let Some(value) = table.get("interpreter") {
            let word = value.as_str().filter(|word| !word.trim().is_empty());
            let word = word.ok_or_else(|| wrong("python.interpreter", "the path or name of a program", value))?;
            settings.interpreter = Some(word.to_owned());
        }
        if let Some(value) = table.get("idle_ms") {
            let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
            let number = number.ok_or_else(|| wrong("python.idle_ms", "a number of milliseconds", value))?;
            settings.idle = Duration::from_millis(number.into());
        }
        let unknown = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
        let keys = KEYS.join(", ");
        let warnings =
            unknown.map(|key| format!("python.{key} is unknown and has no effect; the keys are {keys}")).collect();
        Ok((settings, warnings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_nonsense_is_named() {
        let read = |text: &str| PythonSettings::read(&text.parse().expect("TOML"), Path::new("config.toml"));
        assert_eq!(read(""), Ok((PythonSettings::default(), Vec::new())));
        let (settings, warnings) =
            read("[python]\ninterpreter = \"/opt/python\"\nidle_ms = 5\nidle = 1").expect("read");
        let expected = PythonSettings { interpreter: Some("/opt/python".to_owned()), idle: Duration::from_millis(5) };
        assert_eq!((settings, warnings.len()), (expected, 1));
        for (text, key) in [
            ("python = 1", "python"),
            ("[python]\ninterpreter = 7", "python.interpreter"),
            ("[python]\ninterpreter = \" \"", "python.interpreter"),
            ("[python]\nidle_ms = -1", "python.idle_ms"),
        ] {
            assert!(read(text).is_err_and(|error| error.contains(&format!(": {key}:"))), "{text}");
        }
    }
}
