//! What handlers are given and what they answer.

use std::fmt;

use serde_json::Value;

/// What a handler gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something did not work. A tool that returns one has answered with an error; nothing breaks.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// `timeout`, `denied`, `io`, `invalid_request`, `internal`, or a word that a later host uses.
    pub code: String,
    /// For people.
    pub message: String,
    /// For programs.
    pub details: Option<Value>,
}

impl Error {
    /// One with this code.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), details: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::new("internal", message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::new("internal", message)
    }
}

/// The arguments of a tool. The host has checked them against the tool's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Args(pub Value);

impl Args {
    /// An argument as it is; `null` if it is missing.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// When it is missing or not a text.
    pub fn text(&self, name: &str) -> Result<&str> {
        self.get(name).as_str().ok_or_else(|| missing(name, "text"))
    }

    /// A number that must be there.
    ///
    /// # Errors
    /// When it is missing or not a number.
    pub fn number(&self, name: &str) -> Result<f64> {
        self.get(name).as_f64().ok_or_else(|| missing(name, "number"))
    }

    /// Whether a switch is on; off if it is missing.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).as_bool().unwrap_or(false)
    }
}

fn missing(name: &str, kind: &str) -> Error {
    Error::new("invalid_request", format!("the argument `{name}` must be a {kind}"))
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// For instance `image/png`.
        mime: String,
        /// Its bytes.
        data: Vec<u8>,
    },
}

/// What a tool answers. A `String` is one, too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// What the model sees.
    pub blocks: Vec<Block>,
    /// The tool ran, and says that it failed.
    pub is_error: bool,
    /// Data beside the text.
    pub details: Option<Value>,
}

impl Answer {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![Block::Text(text.into())], ..Self::default() }
    }

    /// With data beside the text.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }

    /// All its text.
    pub fn all_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// What the host does after a slash command. A `String` is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing: the extension has dealt with it.
    Nothing,
    /// Show once.
    Display(String),
    /// Submit as a message of the user.
    Prompt(String),
    /// Put into the editor.
    Insert(String),
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::Display(text)
    }
}

/// What a guard says about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Go on.
    Pass,
    /// Go on with these arguments.
    Replace(Value),
    /// Stop, for this reason.
    Block(String),
}
