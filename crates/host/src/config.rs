//! `config.toml` in the home: the policy, how dead extensions are started again, where scripts and Python files run, and the
//! bounds of components.

mod python;
mod scripts;

use std::path::Path;
use std::time::Duration;

use jackfield_discovery::Diagnostic;
use jackfield_files::Home;
use jackfield_policy::Policy;
use toml::{Table, Value};

use crate::host::OpenError;
use crate::supervisor::RestartRule;

pub use self::python::PythonSettings;
pub use self::scripts::ScriptSettings;

const TABLES: [&str; 6] = ["policy", "supervisor", "js", "wasm", "python", "extensions"];
const SUPERVISOR_KEYS: [&str; 4] = ["max_restarts", "window_ms", "backoff_ms", "backoff_cap_ms"];

/// What the file says, or what holds without one.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The table `[policy]`.
    pub(crate) policy: Policy,
    /// The table `[supervisor]`.
    pub(crate) restarts: RestartRule,
    /// The tables `[js]`, `[wasm]` and `[extensions.ID]`.
    pub(crate) scripts: ScriptSettings,
    /// The table `[python]`.
    pub(crate) python: PythonSettings,
    /// What has no effect.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl ScriptSettings {
    /// Reads what the configuration of this home says about scripts, for the code that makes their runtime.
    ///
    /// # Errors
    /// As [`crate::Host::open`]: when the file is there and cannot be read or understood.
    pub fn of(home: &Home) -> Result<Self, OpenError> {
        Config::read(home).map(|config| config.scripts)
    }
}

impl Config {
    /// Reads the file of this home.
    ///
    /// # Errors
    /// When it is there and cannot be read or understood: a host must not run on rules that it could not read.
    pub(crate) fn read(home: &Home) -> Result<Self, OpenError> {
        let file = home.config();
        match std::fs::read_to_string(&file) {
            Ok(text) => Self::parse(&text, &file).map_err(OpenError::Config),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(OpenError::Home { path: file, source }),
        }
    }

    fn parse(text: &str, file: &Path) -> Result<Self, String> {
        let (policy, policy_warnings) = Policy::parse(text, file).map_err(|error| error.to_string())?;
        let document: Table = text.parse().map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let (restarts, supervisor_warnings) = supervisor(&document, file)?;
        let (scripts, script_warnings) = ScriptSettings::read(&document, file)?;
        let (python, python_warnings) = PythonSettings::read(&document, file)?;
        let strays = strays(&document);
        let warnings = policy_warnings.iter().chain(&supervisor_warnings).chain(&script_warnings);
        let warnings = warnings.chain(&python_warnings).chain(&strays);
        let warnings = warnings.map(|warning| Diagnostic::warn(file, warning)).collect();
        Ok(Self { policy, restarts, scripts, python, warnings })
    }
}

/// Unknown tables and keys: `[polcy]` would leave open what its writer wanted shut.
fn strays(document: &Table) -> Vec<String> {
    let unknown = document.keys().filter(|key| !TABLES.contains(&key.as_str()) && !Policy::has_key(key));
    unknown.map(|key| format!("{key} is unknown and has no effect; the tables are {}", TABLES.join(", "))).collect()
}

/// Reads the table `[supervisor]`: `max_restarts` (5; 0 starts nothing again), `window_ms` (300000), `backoff_ms` (1000)
/// and `backoff_cap_ms` (16000).
fn supervisor(document: &Table, file: &Path) -> Result<(RestartRule, Vec<String>), String> {
    let wrong = |key: &str, message: String| format!("cannot read {}: {key}: {message}", file.display());
    let mut rule = RestartRule::default();
    let table = match document.get("supervisor") {
        None => return Ok((rule, Vec::new())),
        Some(Value::Table(table)) => table,
        Some(other) => return Err(wrong("supervisor", format!("expected a table, found {}", other.type_str()))),
    };
    let mut warnings = Vec::new();
    for (key, value) in table {
        if !SUPERVISOR_KEYS.contains(&key.as_str()) {
            let keys = SUPERVISOR_KEYS.join(", ");
            warnings.push(format!("supervisor.{key} is unknown and has no effect; the keys are {keys}"));
            continue;
        }
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
            wrong(&format!("supervisor.{key}"), format!("expected a number from 0 to {}, found {value}", u32::MAX))
        })?;
        let time = Duration::from_millis(number.into());
        match key.as_str() {
            "max_restarts" => rule.max_attempts = number,
            "window_ms" => rule.window = time,
            "backoff_ms" => rule.base = time,
            _ => rule.cap = time,
        }
    }
    Ok((rule, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(RestartRule, usize), &str>) {
        let read = Config::parse(text, Path::new("config.toml"));
        match (read, expected) {
            (Ok(config), Ok(expected)) => assert_eq!((config.restarts, config.warnings.len()), expected, "{text}"),
            (Err(error), Err(expected)) => assert_eq!(error, expected, "{text}"),
            (read, expected) => panic!("{text}: {read:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn what_has_no_effect_is_named_once_with_what_would_have() {
        let text = "mode = \"strict\"\ntop = 1\n[polcy]\nmode = \"strict\"\n[policy]\nmod = 1\n[supervisor]\nmax = 1\n";
        let config = Config::parse(text, Path::new("home/config.toml")).expect("warnings only");
        let messages: Vec<&str> = config.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "mode stands outside of [policy] and has no effect there",
                "policy.mod is unknown and has no effect; the keys are mode, default_caps, deny_caps, max_memory_mb, \
                 allow_tools, deny_tools",
                "supervisor.max is unknown and has no effect; the keys are max_restarts, window_ms, backoff_ms, \
                 backoff_cap_ms",
                "polcy is unknown and has no effect; the tables are policy, supervisor, js, wasm, python, extensions",
                "top is unknown and has no effect; the tables are policy, supervisor, js, wasm, python, extensions",
            ]
        );
        assert!(config.warnings.iter().all(|warning| warning.path == Path::new("home/config.toml")));
    }

    #[test]
    fn the_supervisor_table_overrides_the_restart_rule() {
        let usual = RestartRule::default();
        check("", Ok((usual, 0)));
        check("[policy]\nmode = \"strict\"", Ok((usual, 0)));
        check(
            "[supervisor]\nmax_restarts = 2\nwindow_ms = 3\nbackoff_ms = 4\nbackoff_cap_ms = 5",
            Ok((
                RestartRule {
                    max_attempts: 2,
                    window: Duration::from_millis(3),
                    base: Duration::from_millis(4),
                    cap: Duration::from_millis(5),
                },
                0,
            )),
        );
        check("[supervisor]\nmax_restart = 2\n[policy]\nmod = 1", Ok((usual, 2)));
        check("supervisor = 7", Err("cannot read config.toml: supervisor: expected a table, found integer"));
        check(
            "[supervisor]\nbackoff_ms = -1",
            Err("cannot read config.toml: supervisor.backoff_ms: expected a number from 0 to 4294967295, found -1"),
        );
    }
}
