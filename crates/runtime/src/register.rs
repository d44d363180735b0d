//! Collects what an extension registers, within bounds.

use jackfield_protocol::{ChannelSpec, CommandSpec, Contributions, HookPoint, ToolSpec};
use serde_json::{Value, json};

/// Tools, and as many commands, that one extension may have.
const MOST: usize = 1000;
const MOST_SUBSCRIPTIONS: usize = 1000;
/// Channels that one extension may have.
const MOST_CHANNELS: usize = 100;
/// The longest name of a channel, in bytes; names become names of files.
const LONGEST_CHANNEL: usize = 64;
const MOST_WARNINGS: usize = 200;
/// The largest schema that is not refused.
const LARGEST_SCHEMA: usize = 1024 * 1024;
/// What all schemas of one extension may take together: they are kept, and handed on at every change.
const ALL_SCHEMAS: usize = 8 * 1024 * 1024;

/// Cuts what a runtime hands over to what one extension may have, and says in its warnings what is left out. The host
/// calls this for every runtime.
pub fn bounded(mut contributions: Contributions) -> Contributions {
    fn cut<T>(list: &mut Vec<T>, what: &str, warnings: &mut Vec<String>) {
        if list.len() > MOST {
            warnings.push(format!("{} {what} were left out: an extension may have {MOST}", list.len() - MOST));
            list.truncate(MOST);
        }
    }
    let mut warnings = std::mem::take(&mut contributions.warnings);
    warnings.truncate(MOST_WARNINGS);
    cut(&mut contributions.tools, "tools", &mut warnings);
    cut(&mut contributions.commands, "commands", &mut warnings);
    cut(&mut contributions.events, "events", &mut warnings);
    cut(&mut contributions.bus, "bus channels", &mut warnings);
    cut(&mut contributions.shortcuts, "shortcuts", &mut warnings);
    cut(&mut contributions.flags, "flags", &mut warnings);
    contributions.warnings = warnings;
    contributions
}

/// What an extension has registered so far, and whether the host knows.
#[derive(Debug, Default)]
pub struct Registrations {
    /// What it is so far.
    pub contributions: Contributions,
    /// The handshake is over: changes go to the host.
    pub ready: bool,
    changed: bool,
    /// What the schemas of the tools take together, in bytes.
    schemas: usize,
}

impl Registrations {
    /// Notes what is wrong with a registration.
    pub fn warn(&mut self, text: String) {
        self.changed = true;
        let warnings = &mut self.contributions.warnings;
        match warnings.len().cmp(&MOST_WARNINGS) {
            std::cmp::Ordering::Less => warnings.push(text),
            std::cmp::Ordering::Equal => warnings.push("there are more warnings, which are not kept".to_owned()),
            std::cmp::Ordering::Greater => {}
        }
    }

    /// Takes a tool, unless it is beyond the bounds.
    pub fn tool(&mut self, mut tool: ToolSpec) {
        self.changed = true;
        if tool.name.trim().is_empty() {
            return self.warn("a tool without a name was registered and left out".to_owned());
        }
        let name = tool.name.clone();
        let Some(mut size) = schema_size(&tool) else {
            return self.warn(format!("tool {name:?} was left out: its schema is larger than 1 MiB"));
        };
        if !tool.parameters.is_object() {
            self.warn(format!("the schema of tool {name:?} is not an object; any object is taken"));
            tool.parameters = json!({ "type": "object" });
            size = schema_size(&tool).unwrap_or(size);
        }
        let place = self.contributions.tools.iter().position(|known| known.name == name);
        let replaced = place.and_then(|at| self.contributions.tools.get(at)).and_then(schema_size).unwrap_or(0);
        let all = self.schemas.saturating_sub(replaced).saturating_add(size);
        if all > ALL_SCHEMAS {
            return self
                .warn(format!("tool {name:?} was left out: the schemas of an extension may take 8 MiB together"));
        }
        if place.is_none() && self.contributions.tools.len() >= MOST {
            return self.warn(format!("tool {name:?} was left out: an extension may have {MOST} tools"));
        }
        self.schemas = all;
        match place.and_then(|at| self.contributions.tools.get_mut(at)) {
            Some(known) => {
                *known = tool;
                self.warn(format!("tool {name:?} was registered twice; the later one counts"));
            }
            None => self.contributions.tools.push(tool),
        }
    }

    /// Takes a slash command, unless it is beyond the bounds.
    pub fn command(&mut self, command: CommandSpec) {
        self.changed = true;
        let name = command.name.clone();
        if name.trim().is_empty() {
            return self.warn("a command without a name was registered and left out".to_owned());
        }
        if let Some(known) = self.contributions.commands.iter_mut().find(|known| known.name == name) {
            *known = command;
            return self.warn(format!("command {name:?} was registered twice; the later one counts"));
        }
        if self.contributions.commands.len() >= MOST {
            return self.warn(format!("command {name:?} was left out: an extension may have {MOST} commands"));
        }
        self.contributions.commands.push(command);
    }

    /// Takes a channel, unless it is beyond the bounds.
    pub fn channel(&mut self, channel: ChannelSpec) {
        self.changed = true;
        let name = channel.name.clone();
        if name.trim().is_empty() {
            return self.warn("a channel without a name was registered and left out".to_owned());
        }
        if name.len() > LONGEST_CHANNEL {
            return self.warn(format!("a channel was left out: its name is longer than {LONGEST_CHANNEL} bytes"));
        }
        if let Some(known) = self.contributions.channels.iter_mut().find(|known| known.name == name) {
            *known = channel;
            return self.warn(format!("channel {name:?} was registered twice; the later one counts"));
        }
        if self.contributions.channels.len() >= MOST_CHANNELS {
            return self.warn(format!("channel {name:?} was left out: an extension may have {MOST_CHANNELS} channels"));
        }
        self.contributions.channels.push(channel);
    }

    /// Takes a subscription, unless it is beyond the bounds.
    pub fn event(&mut self, name: String) {
        self.changed = true;
        if self.contributions.events.len() >= MOST_SUBSCRIPTIONS {
            return self.warn(format!("event {name:?} was left out: {MOST_SUBSCRIPTIONS} subscriptions are allowed"));
        }
        if !self.contributions.events.contains(&name) {
            self.contributions.events.push(name);
        }
    }

    /// Takes a moment at which it wants to be asked.
    pub fn hook(&mut self, point: HookPoint) {
        self.changed = true;
        if !self.contributions.hooks.contains(&point) {
            self.contributions.hooks.push(point);
        }
    }

    /// What the host must be told now, if anything.
    pub fn news(&mut self) -> Option<Contributions> {
        let news = self.ready && self.changed;
        if self.ready {
            self.changed = false;
        }
        news.then(|| self.contributions.clone())
    }

    /// Ends the handshake.
    pub fn finish(&mut self) -> Contributions {
        self.ready = true;
        self.changed = false;
        self.contributions.clone()
    }
}

/// What the schemas of a tool take as JSON; `None` when one is too large.
fn schema_size(tool: &ToolSpec) -> Option<usize> {
    std::iter::once(&tool.parameters).chain(&tool.output_schema).map(size_of).sum()
}

/// How long a schema is as JSON, unless it is too large.
fn size_of(schema: &Value) -> Option<usize> {
    struct Meter {
        size: usize,
    }
    impl std::io::Write for Meter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.size = self.size.saturating_add(bytes.len());
            if self.size > LARGEST_SCHEMA { Err(std::io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut meter = Meter { size: 0 };
    serde_json::to_writer(&mut meter, schema).is_ok().then_some(meter.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_and_say_so() {
        let mut registrations = Registrations::default();
        registrations.tool(ToolSpec::open(" "));
        registrations.tool(ToolSpec { parameters: json!("x".repeat(LARGEST_SCHEMA)), ..ToolSpec::open("big") });
        registrations.tool(ToolSpec { parameters: json!(7), ..ToolSpec::open("odd") });
        registrations.tool(ToolSpec { description: "again".into(), ..ToolSpec::open("odd") });
        for number in 0..MOST + MOST_WARNINGS {
            registrations.tool(ToolSpec::open(format!("t{number}")));
        }
        assert_eq!(registrations.news(), None, "not before the handshake is over");
        let contributions = registrations.finish();
        assert_eq!(contributions.tools.len(), MOST);
        assert_eq!(contributions.tools[0], ToolSpec { description: "again".into(), ..ToolSpec::open("odd") });
        assert_eq!(contributions.warnings.len(), MOST_WARNINGS + 1);
        assert_eq!(registrations.news(), None);
        registrations.event("x".into());
        assert_eq!(registrations.news().map(|news| news.events), Some(vec!["x".to_owned()]));
        assert_eq!(registrations.news(), None);
    }

    #[test]
    fn all_schemas_together_are_bounded() {
        let schema = json!({ "description": "x".repeat(LARGEST_SCHEMA - 100) });
        let mut registrations = Registrations::default();
        let mut register = |name: &str| {
            registrations.tool(ToolSpec { parameters: schema.clone(), ..ToolSpec::open(name) });
            registrations.contributions.tools.len()
        };
        for number in 0..8 {
            assert_eq!(register(&format!("t{number}")), number + 1);
        }
        assert_eq!(register("t3"), 8, "one in place of another takes no more");
        assert_eq!(register("one too many"), 8);
        let warnings = registrations.finish().warnings;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[1].contains("one too many") && warnings[1].contains("8 MiB"), "{warnings:?}");
    }
}
