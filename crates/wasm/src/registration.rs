//! What a component says that it contributes, made into what the host knows.

use jackfield_protocol::{Capability, CommandSpec, Contributions, HookPoint, Power, Scope, ToolSpec, glob_matches};
use jackfield_runtime::Registrations;
use serde_json::{Map, Value, json};

use crate::bindings::jackfield::extension::types;

/// Texts of a registration are cut here.
const MAX_TEXT: usize = 64 * 1024;
/// The most requests for capabilities, and the most entries of a list.
const MAX_ITEMS: usize = 1000;

/// What a component contributes, and what only its runtime needs to know of it.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    pub(crate) contributions: Contributions,
    /// The moments at which it is asked, with the tools that it cares about.
    pub(crate) hooks: Vec<(String, Vec<String>)>,
    /// The events that it wants to be told.
    pub(crate) events: Vec<String>,
}

impl Registered {
    /// Whether it wants to be asked at this moment about this tool.
    pub(crate) fn asks(&self, point: &str, tool: Option<&str>) -> bool {
        self.hooks.iter().any(|(known, tools)| {
            known == point
                && (tools.is_empty() || tool.is_none_or(|tool| tools.iter().any(|glob| glob_matches(glob, tool))))
        })
    }

    pub(crate) fn wants(&self, event: &str) -> bool {
        self.events.iter().any(|wanted| wanted == event || wanted == "*")
    }
}

/// Reads a registration, within bounds. What is wrong with it stands in its warnings.
pub(crate) fn read(said: types::Registration) -> Registered {
    let mut found = Registrations::default();
    let mut hooks = Vec::new();
    for tool in said.tools {
        self::tool(&mut found, tool);
    }
    for command in said.commands {
        found.command(CommandSpec { name: cut(command.name), description: cut(command.description) });
    }
    for event in said.events {
        found.event(cut(event));
    }
    let events = found.contributions.events.clone();
    for hook in said.hooks.into_iter().take(MAX_ITEMS) {
        match point(&hook.point) {
            Some(point) => found.hook(point),
            // A question to all who subscribe to an event.
            None => found.event(cut(hook.point.clone())),
        }
        hooks.push((hook.point, hook.tools));
    }
    let mut capabilities = Vec::new();
    for request in said.capabilities.into_iter().take(MAX_ITEMS) {
        match capability(request) {
            Ok(capability) => capabilities.push(capability),
            Err(warning) => found.warn(warning),
        }
    }
    let extra = extra(&mut found, &said.extra);
    let mut contributions = found.finish();
    contributions.version = Some(cut(said.version)).filter(|version| !version.trim().is_empty());
    contributions.capabilities = capabilities;
    for (key, value) in extra {
        match (key.as_str(), value) {
            ("shortcuts", Value::Array(list)) => contributions.shortcuts = list.into_iter().take(MAX_ITEMS).collect(),
            ("bus", Value::Array(list)) => {
                contributions.bus = list.iter().filter_map(Value::as_str).take(MAX_ITEMS).map(str::to_owned).collect();
            }
            (_, value) => {
                contributions.extra.insert(key, value);
            }
        }
    }
    let mut events = events;
    events.extend(contributions.bus.iter().map(|channel| format!("bus:{channel}")));
    Registered { contributions, hooks, events }
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(at);
    }
    text
}

fn tool(found: &mut Registrations, said: types::ToolSpec) {
    let name = cut(said.name);
    let schema = if said.input_schema.trim().is_empty() {
        Ok(json!({ "type": "object" }))
    } else {
        serde_json::from_str(&said.input_schema)
    };
    let parameters = match schema {
        Ok(schema) => schema,
        Err(error) => {
            return found.warn(format!("tool {name:?} was left out: its schema is not JSON: {error}"));
        }
    };
    let mut annotations = match object(&said.annotations) {
        Ok(object) => object,
        Err(why) => {
            found.warn(format!("the annotations of tool {name:?} are ignored: {why}"));
            Map::new()
        }
    };
    let output_schema = annotations.remove("output_schema").filter(Value::is_object);
    let interactive = annotations.remove("interactive").is_some_and(|value| value == true);
    found.tool(ToolSpec {
        name,
        label: said.label.map(cut),
        description: cut(said.description),
        parameters,
        output_schema,
        interactive,
        extra: annotations,
        wire: None,
    });
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("they are no object".to_owned()),
        Err(error) => Err(format!("they are not JSON: {error}")),
    }
}

fn extra(found: &mut Registrations, text: &str) -> Map<String, Value> {
    if text.len() > MAX_TEXT {
        found.warn(format!("`extra` of the registration is ignored: it has more than {MAX_TEXT} bytes"));
        return Map::new();
    }
    object(text).unwrap_or_else(|why| {
        found.warn(format!("`extra` of the registration is ignored: {why}"));
        Map::new()
    })
}

fn point(name: &str) -> Option<HookPoint> {
    serde_json::from_value(Value::String(name.to_owned())).ok()
}

fn capability(request: types::CapabilityRequest) -> Result<Capability, String> {
    let Some(power) = Power::parse(&request.name) else {
        return Err(format!("it asks for the unknown capability {:?}, which is ignored", cut(request.name)));
    };
    let mut scope = Scope::default();
    let list: Vec<String> = request.scope.into_iter().take(MAX_ITEMS).map(cut).collect();
    match power {
        Power::Read | Power::Write => scope.paths = list,
        Power::Http | Power::Listen => scope.hosts = list,
        Power::Env => scope.env = list,
        Power::Tool => scope.tools = list,
        Power::Exec => scope.programs = list,
        Power::Session | Power::Ui | Power::Agent | Power::Events | Power::Log if list.is_empty() => {}
        // A limit that has no effect must not turn into no limit at all.
        Power::Session | Power::Ui | Power::Agent | Power::Events | Power::Log => {
            return Err(format!("it asks for {power} with a scope, but {power} has no parts; the request is ignored"));
        }
    }
    let reason = Some(cut(request.reason)).filter(|reason| !reason.trim().is_empty());
    Ok(Capability { power, methods: Vec::new(), scope, reason })
}
