//! Many tools behind three: one that finds them, one that describes them, one that calls them.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_host::{Host, ToolEntry};
use jackfield_mcp::envelope::{INVALID_PARAMS, RpcError};
use jackfield_protocol::ToolResult;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::catalog::{self, Item, definition};
use super::exchange::Exchange;
use super::{Expose, calls};

/// How many tools a search gives unless its caller says.
const DEFAULT_RESULTS: usize = 8;
/// The most tools that a search gives.
const MAX_RESULTS: usize = 50;
/// How much a word counts that occurs often in one tool, and how much the length of a tool's text counts against it: the
/// usual constants of BM25.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;
/// A word in a name is worth several in a description.
const NAME_WEIGHT: usize = 4;

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Search,
    Describe,
    Call,
}

/// What came of calling one of the three.
pub(crate) enum Answered {
    /// The result, made here.
    Here(String),
    /// Another tool is to be called, with these arguments.
    Call(String, String),
}

/// The three, where they are offered.
pub(crate) fn tools(expose: &Expose) -> Vec<Item> {
    if !matches!(expose, Expose::Search(_)) {
        return Vec::new();
    }
    let item = |name: &str, description: &str, schema: Value, reads: bool| {
        let text = json!({
            "name": name,
            "description": description,
            "inputSchema": schema,
            "annotations": { "readOnlyHint": reads },
        });
        Item { name: name.to_owned(), text: text.to_string() }
    };
    let name = json!({ "type": "string", "description": "The tool's name, as search_tools gave it." });
    vec![
        item(
            "search_tools",
            "Find tools by what they do. Gives names, descriptions and parameters of the best matches; call them with call_tool.",
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "A few words about what the tool should do." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "How many; 8 unless told." },
                },
                "required": ["query"],
            }),
            true,
        ),
        item(
            "describe_tool",
            "The whole definition of a tool: what it does and the JSON Schema of its arguments.",
            json!({ "type": "object", "properties": { "name": name }, "required": ["name"] }),
            true,
        ),
        item(
            "call_tool",
            "Call a tool that search_tools found.",
            json!({
                "type": "object",
                "properties": {
                    "name": name,
                    "arguments": { "type": "object", "description": "What its parameters say." },
                },
                "required": ["name"],
            }),
            false,
        ),
    ]
}

/// Whether a name is one of the three.
pub(crate) fn own(expose: &Expose, name: &str) -> Option<Own> {
    match (expose, name) {
        (Expose::Search(_), "search_tools") => Some(Own::Search),
        (Expose::Search(_), "describe_tool") => Some(Own::Describe),
        (Expose::Search(_), "call_tool") => Some(Own::Call),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Query {
    query: String,
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct Named<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a serde_json::value::RawValue>,
}

/// Calls one of the three.
pub(crate) fn answer(exchange: &Exchange, own: Own, arguments: Option<&str>) -> Result<Answered, RpcError> {
    let arguments = arguments.unwrap_or("{}");
    let bad = |error: serde_json::Error| RpcError::new(INVALID_PARAMS, format!("the arguments do not fit: {error}"));
    let lists = exchange.client.face.lists();
    let text = match own {
        Own::Call => {
            let named: Named<'_> = serde_json::from_str(arguments).map_err(bad)?;
            let arguments = named.arguments.map_or_else(|| "{}".to_owned(), |arguments| arguments.get().to_owned());
            if self::own(&exchange.client.expose, &named.name).is_some() {
                return Err(RpcError::new(INVALID_PARAMS, format!("{} is called directly", named.name)));
            }
            return Ok(Answered::Call(named.name, arguments));
        }
        Own::Describe => {
            let named: Named<'_> = serde_json::from_str(arguments).map_err(bad)?;
            match lists.snapshot.tool(&named.name) {
                Some(tool) => ToolResult::text(definition(tool)),
                None => ToolResult::error(format!("no tool named {:?}; find one with search_tools", named.name)),
            }
        }
        Own::Search => {
            let query: Query = serde_json::from_str(arguments).map_err(bad)?;
            let limit = query.limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
            let found = lists.index().find(&query.query, limit);
            let hits: Vec<Value> = found.into_iter().map(|tool| hit(tool)).collect();
            match hits.is_empty() {
                true => ToolResult::text(format!("No tool matches {:?}. Try other words.", query.query)),
                false => ToolResult::text(json!({ "tools": hits }).to_string()),
            }
        }
    };
    Ok(Answered::Here(calls::built(text, false)))
}

fn hit(tool: &ToolEntry) -> Value {
    json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.parameters() })
}

/// Finds tools by words.
pub(crate) struct Index {
    tools: Vec<(Arc<ToolEntry>, usize)>,
    /// For each word, in which tools it occurs and how often.
    words: HashMap<String, Vec<(usize, usize)>>,
    average: f64,
}

impl Index {
    /// Reads names, descriptions and parameters.
    pub(crate) fn of<'a>(entries: impl Iterator<Item = &'a Arc<ToolEntry>>) -> Self {
        let (mut tools, mut words) = (Vec::new(), HashMap::<String, Vec<(usize, usize)>>::new());
        for tool in entries {
            let mut counts: HashMap<String, usize> = HashMap::new();
            let mut count = |text: &str, weight: usize| {
                for word in split(text) {
                    *counts.entry(word).or_insert(0) += weight;
                }
            };
            count(&tool.name, NAME_WEIGHT);
            count(tool.spec.label.as_deref().unwrap_or_default(), NAME_WEIGHT);
            count(&tool.description, 1);
            let properties = tool.parameters().get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                count(name, 1);
                count(schema.get("description").and_then(Value::as_str).unwrap_or_default(), 1);
            }
            let at = tools.len();
            tools.push((Arc::clone(tool), counts.values().sum()));
            for (word, times) in counts {
                words.entry(word).or_default().push((at, times));
            }
        }
        let total: usize = tools.iter().map(|(_, length)| length).sum();
        let average = (total as f64 / tools.len().max(1) as f64).max(1.0);
        Self { tools, words, average }
    }

    /// The best matches, best first; the names decide between equals.
    pub(crate) fn find(&self, query: &str, limit: usize) -> Vec<&Arc<ToolEntry>> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        let mut wanted: Vec<String> = split(query).collect();
        wanted.sort();
        wanted.dedup();
        for word in wanted {
            // A word also finds what begins with it, for less.
            let longer =
                self.words.iter().filter(|(known, _)| word.len() >= 3 && known.starts_with(&word) && **known != word);
            let hits =
                self.words.get(&word).into_iter().map(|hits| (hits, 1.0)).chain(longer.map(|(_, hits)| (hits, 0.5)));
            for (hits, weight) in hits {
                let rarity = ((self.tools.len() as f64 - hits.len() as f64 + 0.5) / (hits.len() as f64 + 0.5)).ln_1p();
                for (at, times) in hits {
                    let length = self.tools.get(*at).map_or(self.average, |(_, length)| *length as f64);
                    let times = *times as f64;
                    let damped = times + SATURATION * (1.0 - LENGTH + LENGTH * length / self.average);
                    *scores.entry(*at).or_insert(0.0) += weight * rarity * times * (SATURATION + 1.0) / damped;
                }
            }
        }
        let mut ranked: Vec<(&Arc<ToolEntry>, f64)> =
            scores.into_iter().filter_map(|(at, score)| Some((&self.tools.get(at)?.0, score))).collect();
        ranked.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.name.cmp(&b.name)));
        ranked.into_iter().take(limit).map(|(tool, _)| tool).collect()
    }
}

/// The words of a text, in small letters; names are taken apart at underscores and capitals.
fn split(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut small = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && small) {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        small = letter.is_lowercase() || letter.is_numeric();
    }
    words.push(word);
    words.into_iter().map(|word| stem(&word)).filter(|word| word.len() > 1)
}

/// Plurals find singulars.
fn stem(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// What a choice of tools costs a model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// How many tools are listed.
    pub tools: usize,
    /// How long their definitions are.
    pub bytes: usize,
    /// About so many tokens.
    pub tokens: usize,
}

/// What listing everything costs, and what finding costs.
pub fn costs(host: &Host) -> [(&'static str, Cost); 2] {
    let cost = |texts: &mut dyn Iterator<Item = String>| {
        let (tools, bytes) = texts.fold((0, 0), |(tools, bytes), text| (tools + 1, bytes + text.len()));
        Cost { tools, bytes, tokens: bytes.div_ceil(4) }
    };
    let snapshot = host.snapshot();
    let listed = snapshot.tools().filter(|tool| tool.known_quarantine().is_none() && !tool.spec.interactive);
    let all = cost(&mut listed.map(|tool| catalog::definition(tool)));
    let found = cost(&mut tools(&Expose::Search(Vec::new())).into_iter().map(|item| item.text));
    [("all", all), ("search", found)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let words: Vec<String> = split("git_logEntries, of 2 Files").collect();
        assert_eq!(words, ["git", "log", "entrie", "of", "file"]);
    }
}
