//! Reading the table `[policy]` of a configuration file.

use std::path::{Path, PathBuf};

use jackfield_protocol::Power;
use toml::{Table, Value};

use super::{Mode, Policy};

const KEYS: [&str; 6] = ["mode", "default_caps", "deny_caps", "max_memory_mb", "allow_tools", "deny_tools"];

/// Why a policy cannot be read. Each names the file; a host must not run on a policy that it could not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file is not TOML.
    #[error("cannot read the policy in {}: line {line}: {message}", file.display())]
    Syntax {
        /// The file that holds the policy.
        file: PathBuf,
        /// The line of the error, counted from one.
        line: usize,
        /// What the reader of TOML says.
        message: String,
    },
    /// A key has a value that means nothing.
    #[error("cannot read the policy in {}: {key}: {message}", file.display())]
    Value {
        /// The file that holds the policy.
        file: PathBuf,
        /// The key, for instance `policy.mode`.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

impl Policy {
    /// Whether the table `[policy]` has a key of this name.
    pub fn has_key(key: &str) -> bool {
        KEYS.contains(&key)
    }

    /// Reads the table `[policy]` of a configuration file; other tables are left to others. Returns warnings about keys
    /// that nobody knows; they do not name the file, as whoever shows them does.
    ///
    /// # Errors
    /// When the text is not TOML, or a value is of the wrong type, an unknown mode or an unknown power. An error names
    /// the file, the key and what would be right.
    pub fn parse(toml_text: &str, file: &Path) -> Result<(Self, Vec<String>), PolicyError> {
        let document: Table = toml_text.parse().map_err(|error: toml::de::Error| PolicyError::Syntax {
            file: file.to_owned(),
            line: line_of(toml_text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
        let mut warnings = Vec::new();
        for key in KEYS.iter().filter(|key| document.contains_key(**key)) {
            warnings.push(format!("{key} stands outside of [policy] and has no effect there"));
        }
        let table = match document.get("policy") {
            None => return Ok((Self::default(), warnings)),
            Some(Value::Table(table)) => table,
            Some(other) => return Err(wrong_type(file, "policy", other, "a table")),
        };
        for key in table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            warnings.push(format!("policy.{key} is unknown and has no effect; the keys are {}", KEYS.join(", ")));
        }
        let reader = Reader { file, table };
        let policy = Self {
            mode: reader.mode()?,
            default_caps: reader.powers("default_caps")?,
            deny_caps: reader.powers("deny_caps")?,
            max_memory_mb: reader.megabytes("max_memory_mb")?,
            allow_tools: reader.texts("allow_tools")?,
            deny_tools: reader.texts("deny_tools")?,
        };
        Ok((policy, warnings))
    }
}

struct Reader<'a> {
    file: &'a Path,
    table: &'a Table,
}

impl Reader<'_> {
    fn mode(&self) -> Result<Mode, PolicyError> {
        match self.table.get("mode") {
            None => Ok(Mode::default()),
            Some(Value::String(text)) => {
                text.parse().map_err(|error: super::UnknownMode| self.wrong("mode", error.to_string()))
            }
            Some(other) => Err(wrong_type(self.file, "policy.mode", other, "one of strict, prompt, permissive")),
        }
    }

    fn powers(&self, key: &str) -> Result<Vec<Power>, PolicyError> {
        self.texts(key)?
            .iter()
            .map(|text| {
                Power::parse(text).ok_or_else(|| {
                    let all = Power::ALL.map(Power::as_str).join(", ");
                    self.wrong(key, format!("unknown capability {text:?}; the capabilities are {all}"))
                })
            })
            .collect()
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, PolicyError> {
        let expected = "a list of strings";
        let full_key = || format!("policy.{key}");
        match self.table.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    let text = item.as_str().ok_or_else(|| wrong_type(self.file, &full_key(), item, expected))?;
                    Ok(text.to_owned())
                })
                .collect(),
            Some(other) => Err(wrong_type(self.file, &full_key(), other, expected)),
        }
    }

    fn megabytes(&self, key: &str) -> Result<Option<u64>, PolicyError> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => match u64::try_from(*number) {
                Ok(number) if number > 0 => Ok(Some(number)),
                _ => Err(self.wrong(key, format!("{number} is not possible; give a number of megabytes above 0"))),
            },
            Some(other) => Err(wrong_type(self.file, &format!("policy.{key}"), other, "a number of megabytes")),
        }
    }

    fn wrong(&self, key: &str, message: String) -> PolicyError {
        PolicyError::Value { file: self.file.to_owned(), key: format!("policy.{key}"), message }
    }
}

fn wrong_type(file: &Path, key: &str, found: &Value, expected: &str) -> PolicyError {
    let message = format!("expected {expected}, found a value of type {}", found.type_str());
    PolicyError::Value { file: file.to_owned(), key: key.to_owned(), message }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
