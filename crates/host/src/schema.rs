//! Checking the arguments of a tool against the schema that its extension gave.
//!
//! Schemas come from extensions, so none is trusted: nothing is fetched, patterns cannot run away, and size, depth and
//! the work that a schema asks for are limited. A schema that is refused costs its own tool only.

mod limits;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jackfield_protocol::plain_text;
use jsonschema::PatternOptions;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// How many problems of one set of arguments are named.
const MAX_PROBLEMS: usize = 3;

/// How long the description of one problem may be, in characters.
const MAX_PROBLEM_TEXT: usize = 300;

/// How often a pattern that needs more than a linear search may try again.
const MAX_BACKTRACKS: usize = 50_000;

/// The schemas in use, each compiled once. To compile one takes up to milliseconds, so do it when a tool is first used.
#[derive(Debug, Default)]
pub struct Schemas {
    compiled: Mutex<HashMap<[u8; 32], Weak<Validator>>>,
}

impl Schemas {
    /// The validator of a schema, compiled unless it is in use already.
    ///
    /// # Errors
    /// Why the schema cannot be used.
    pub fn compile(&self, parameters: &Value) -> Result<Arc<Validator>, String> {
        if accepts_any_object(parameters) {
            return Ok(Arc::new(Validator(Rule::AnyObject)));
        }
        limits::check_depth(parameters)?;
        let text = parameters.to_string();
        limits::check_size(&text)?;
        let key: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        if let Some(known) = self.lock().get(&key).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let validator = Arc::new(Validator::compile(parameters)?);
        let mut compiled = self.lock();
        compiled.retain(|_, known| known.strong_count() > 0);
        compiled.insert(key, Arc::downgrade(&validator));
        Ok(validator)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Weak<Validator>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Validator(Rule);

#[derive(Debug)]
enum Rule {
    /// There is nothing to check but that it is an object.
    AnyObject,
    Schema(Box<jsonschema::Validator>),
}

impl Validator {
    fn compile(schema: &Value) -> Result<Self, String> {
        match schema {
            Value::Object(_) => {}
            Value::Bool(_) => return Err("the schema is false, so that no arguments could ever fit".to_owned()),
            _ => return Err("the schema is neither an object nor a boolean".to_owned()),
        }
        limits::check_work(schema)?;
        let schema = without_foreign_dialect(schema);
        let linear = jsonschema::options().offline().with_pattern_options(PatternOptions::regex()).build(&schema);
        let built = linear.or_else(|_| {
            // Some patterns look ahead, which a linear search cannot. Those are searched with a bound on the tries.
            let bounded = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
            jsonschema::options().offline().with_pattern_options(bounded).build(&schema)
        });
        match built {
            Ok(validator) => Ok(Self(Rule::Schema(Box::new(validator)))),
            Err(error) => {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() { "its top".to_owned() } else { place };
                Err(clip(&format!("the schema is invalid at {place}: {error}")))
            }
        }
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// Up to three problems, each with the place and what is wrong there. Values are not repeated: they may be secret.
    pub fn check(&self, args: &Value) -> Result<(), String> {
        if !args.is_object() {
            return Err(not_an_object(args));
        }
        let validator = match &self.0 {
            Rule::AnyObject => return Ok(()),
            Rule::Schema(validator) => validator,
        };
        if validator.is_valid(args) {
            return Ok(());
        }
        let mut errors = validator.iter_errors(args);
        let mut problems = Vec::new();
        for error in errors.by_ref().take(MAX_PROBLEMS) {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "arguments" } else { place.as_str() };
            problems.push(clip(&format!("{place}: {}", error.masked())));
        }
        if errors.next().is_some() {
            problems.push("and more".to_owned());
        }
        Err(problems.join("; "))
    }

    /// The places of the same problems, as JSON pointers: of what is missing or too much, where it would be or is.
    pub fn places(&self, args: &Value) -> Vec<String> {
        let Rule::Schema(validator) = &self.0 else { return Vec::new() };
        let below = |place: String, name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        let mut places = Vec::new();
        for error in validator.iter_errors(args).take(MAX_PROBLEMS) {
            let place = error.instance_path().to_string();
            places.push(match error.kind() {
                ValidationErrorKind::Required { property } => below(place, property.as_str().unwrap_or_default()),
                ValidationErrorKind::AdditionalProperties { unexpected } => match unexpected.first() {
                    Some(name) => below(place, name),
                    None => place,
                },
                _ => place,
            });
        }
        places
    }
}

/// Arguments as tools get them: an object. Nothing at all becomes an empty one.
///
/// # Errors
/// When they are something else.
pub fn coerce_object(args: Value) -> Result<Value, String> {
    match args {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(args),
        other => Err(not_an_object(&other)),
    }
}

fn not_an_object(args: &Value) -> String {
    let found = match args {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("arguments must be a JSON object, not {found}")
}

/// Whether a schema says nothing about an object. Most tools without parameters have such a one.
fn accepts_any_object(schema: &Value) -> bool {
    match schema {
        Value::Null | Value::Bool(true) => true,
        Value::Object(keywords) => keywords.iter().all(|(keyword, value)| match keyword.as_str() {
            "type" => value == "object",
            "properties" => value.as_object().is_some_and(Map::is_empty),
            "required" => value.as_array().is_some_and(Vec::is_empty),
            "additionalProperties" => *value == Value::Bool(true),
            "title" | "description" | "$comment" | "$schema" => value.is_string(),
            _ => false,
        }),
        Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

/// A `$schema` that names no dialect of JSON Schema would have to be fetched; without it the schema is read as the newest.
fn without_foreign_dialect(schema: &Value) -> std::borrow::Cow<'_, Value> {
    let dialect = schema.get("$schema").and_then(Value::as_str);
    if dialect.is_none_or(|dialect| dialect.contains("://json-schema.org/")) {
        return std::borrow::Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
    }
    std::borrow::Cow::Owned(schema)
}

fn clip(text: &str) -> String {
    let text = plain_text(text);
    match text.char_indices().nth(MAX_PROBLEM_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}
