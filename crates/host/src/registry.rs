//! The registry: an immutable snapshot of everything that extensions contribute. Changing it is building the next one.

mod live_registry;
mod names;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use jackfield_protocol::{ChannelSpec, CommandSpec, ExtensionId, Format, HookPoint, OnFailure, ToolSpec};
use serde_json::Value;

use crate::pins::Pins;
use crate::schema::{Schemas, Validator};
use crate::supervisor::Supervised;

use jackfield_discovery::Standing;
use jackfield_discovery::catalog::Known;
use jackfield_services::Services;
pub(crate) use live_registry::LiveRegistry;
pub(crate) use names::{could_own, is_servers, qualified_name};
use names::{public_name, server_name};

/// Commands that faces answer themselves; an extension's command of that name stays reachable as `id:name`.
const BUILT_IN_COMMANDS: [&str; 6] = ["help", "exit", "quit", "clear", "model", "reload-ext"];

/// Names that are reserved for built-in channels. An extension's channel of that name is offered as `id:name`.
pub const BUILT_IN_CHANNELS: [&str; 1] = ["telegram"];

/// A tool under its public name.
pub struct ToolEntry {
    /// Unique; at most 64 characters; accepted by every model provider.
    pub name: String,
    /// Unique and the same whatever else is installed.
    pub qualified_name: String,
    /// As the model sees it.
    pub description: String,
    /// As the extension registered it.
    pub spec: ToolSpec,
    /// Who owns it.
    pub extension: ExtensionId,
    pub(crate) owner: Arc<Supervised>,
    from: Source,
    held: Option<String>,
    schemas: Arc<Schemas>,
    validator: OnceLock<Result<Arc<Validator>, String>>,
}

impl ToolEntry {
    /// Compiles the schema once; a schema that cannot be compiled puts this tool, and only this one, into quarantine.
    pub(crate) fn validator(&self) -> &Result<Arc<Validator>, String> {
        let unusable = |problem| format!("its schema is unusable: {problem}");
        self.validator.get_or_init(|| self.schemas.compile(&self.spec.parameters).map_err(unusable))
    }

    /// Why a person must accept this tool before it can be called, if so.
    pub fn held(&self) -> Option<&str> {
        self.held.as_deref()
    }

    /// Why this tool cannot be called, if so.
    pub fn quarantine(&self) -> Option<&str> {
        self.held().or_else(|| self.validator().as_ref().err().map(String::as_str))
    }

    /// The same, as far as is known without compiling anything.
    pub fn known_quarantine(&self) -> Option<&str> {
        self.validator.get()?.as_ref().err().map(String::as_str)
    }

    /// The schema that faces show.
    pub fn parameters(&self) -> &Value {
        &self.spec.parameters
    }
}

/// Where an entry comes from, so that the next snapshot can take it over without comparing what it says.
#[derive(Clone)]
struct Source {
    known: Arc<Known>,
    /// Which one of its kind it is.
    at: usize,
}

impl Source {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.known, &other.known) && self.at == other.at
    }
}

/// A slash command.
pub struct CommandEntry {
    /// Unique, without the slash.
    pub name: String,
    /// `extension:name`.
    pub qualified_name: String,
    /// As the extension registered it.
    pub spec: CommandSpec,
    /// Who owns it.
    pub extension: ExtensionId,
    pub(crate) owner: Arc<Supervised>,
    from: Source,
}

/// A channel of an extension.
pub struct ChannelEntry {
    /// Unique.
    pub name: String,
    /// `extension:name`.
    pub qualified_name: String,
    /// As the extension registered it.
    pub spec: ChannelSpec,
    /// Who owns it.
    pub extension: ExtensionId,
    pub(crate) owner: Arc<Supervised>,
}

/// An extension that is asked at some moment.
#[derive(Clone)]
pub(crate) struct HookEntry {
    pub(crate) owner: Arc<Supervised>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) timeout_ms: Option<u64>,
}

/// Everything there is at one moment.
#[derive(Default)]
pub struct Snapshot {
    tools: BTreeMap<String, Arc<ToolEntry>>,
    qualified: HashMap<String, Arc<ToolEntry>>,
    commands: BTreeMap<String, Arc<CommandEntry>>,
    channels: BTreeMap<String, Arc<ChannelEntry>>,
    hooks: HashMap<HookPoint, Vec<HookEntry>>,
    subscribers: Vec<Arc<Supervised>>,
    askers: Vec<HookEntry>,
    shortcuts: Vec<(Arc<Supervised>, Value)>,
    conflicts: Vec<String>,
    /// Those that may run and whose contributions are unknown.
    strangers: Vec<Arc<Supervised>>,
    schemas: Arc<Schemas>,
}

impl Snapshot {
    /// Every tool by public name, in order of the names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.tools.values()
    }

    /// Every command, in order of the names.
    pub fn commands(&self) -> impl Iterator<Item = &Arc<CommandEntry>> {
        self.commands.values()
    }

    /// Every channel of an extension, in order of the names.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<ChannelEntry>> {
        self.channels.values()
    }

    /// A channel of an extension by name, or by `extension:name`.
    pub fn channel(&self, name: &str) -> Option<&Arc<ChannelEntry>> {
        self.channels.get(name).or_else(|| self.channels.values().find(|entry| entry.qualified_name == name))
    }

    /// What had to be renamed, and whose names those are.
    pub fn conflicts(&self) -> &[String] {
        &self.conflicts
    }

    /// A tool by public or qualified name.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name).or_else(|| self.qualified.get(name))
    }

    /// A command by name in any case, or by `extension:name`; a leading slash is fine.
    pub fn command(&self, name: &str) -> Option<&Arc<CommandEntry>> {
        let name = name.strip_prefix('/').unwrap_or(name);
        self.commands.get(name).or_else(|| {
            self.commands
                .values()
                .find(|entry| entry.name.eq_ignore_ascii_case(name) || entry.qualified_name.eq_ignore_ascii_case(name))
        })
    }

    pub(crate) fn hooks(&self, point: HookPoint) -> &[HookEntry] {
        self.hooks.get(&point).map_or(&[], Vec::as_slice)
    }

    /// The extensions that could run and had not said what they contribute when this snapshot was built.
    pub(crate) fn strangers(&self) -> &[Arc<Supervised>] {
        &self.strangers
    }

    /// Those who want to be told of any event.
    pub(crate) fn subscribers(&self) -> &[Arc<Supervised>] {
        &self.subscribers
    }

    /// Those who may be asked about events, in the order of hooks.
    pub(crate) fn askers(&self) -> &[HookEntry] {
        &self.askers
    }

    /// Who registered a shortcut, and how it is spelt there. The first one in the order of levels and ids has it.
    pub(crate) fn shortcut(&self, key: &str) -> Option<(Arc<Supervised>, String)> {
        let spelling = |value: &Value| {
            let text = value.as_str().or_else(|| ["shortcut", "key"].iter().find_map(|name| value.get(name)?.as_str()));
            text.map(str::to_owned)
        };
        self.shortcuts.iter().find_map(|(owner, value)| {
            let registered = spelling(value).filter(|registered| registered.eq_ignore_ascii_case(key))?;
            Some((Arc::clone(owner), registered))
        })
    }

    /// Builds the snapshot of these extensions. Nothing depends on the order in which they connected: `--ext` comes before
    /// the project, the project before the home, and within one level the id decides.
    ///
    /// Tools that `before` has already are taken from there, with their compiled schemas.
    pub(crate) fn build(mut extensions: Vec<Arc<Supervised>>, before: &Self, pins: &Pins) -> Self {
        extensions.sort_by(|a, b| (a.origin(), &a.id).cmp(&(b.origin(), &b.id)));
        let mut snapshot = Self { schemas: Arc::clone(&before.schemas), ..Self::default() };
        for owner in &extensions {
            let Some(known) = owner.known() else {
                if owner.is_stranger() {
                    snapshot.strangers.push(Arc::clone(owner));
                }
                continue;
            };
            let format = owner.found().manifest.format;
            let held = pins.judge(&owner.found(), &known.contributions.tools);
            let from = |at: usize| Source { known: Arc::clone(&known), at };
            for (at, spec) in known.contributions.tools.iter().enumerate() {
                snapshot.add_tool(owner, format, spec, held.get(&spec.name), before, from(at));
            }
            for (at, spec) in known.contributions.commands.iter().enumerate() {
                snapshot.add_command(owner, spec, before, from(at));
            }
            for spec in &known.contributions.channels {
                snapshot.add_channel(owner, spec);
            }
            if !known.contributions.events.is_empty() || !known.contributions.bus.is_empty() {
                snapshot.subscribers.push(Arc::clone(owner));
            }
            let shortcuts = known.contributions.shortcuts.iter();
            snapshot.shortcuts.extend(shortcuts.map(|shortcut| (Arc::clone(owner), shortcut.clone())));
        }
        snapshot.add_hooks(extensions);
        snapshot
    }

    fn add_tool(
        &mut self,
        owner: &Arc<Supervised>,
        format: Format,
        spec: &ToolSpec,
        held: Option<&String>,
        before: &Self,
        from: Source,
    ) {
        let qualified = qualified_name(&owner.id, &spec.name);
        let own = match format {
            Format::Nexo => qualified.clone(),
            Format::Mcp => server_name(&owner.found().manifest, &spec.name),
            Format::Native | Format::Zot | Format::Pi | Format::Python => public_name(&owner.id, &spec.name),
        };
        let taken_by = if Services::is_builtin_tool(&own) {
            Some("the host".to_owned())
        } else {
            self.tools.get(&own).map(|other| format!("extension {}", other.extension))
        };
        if own != spec.name && !matches!(format, Format::Nexo | Format::Mcp) {
            self.conflicts.push(format!(
                "tool {:?} of extension {} is offered as {own}: providers accept letters, digits, _ and - only",
                spec.name, owner.id
            ));
        }
        let name = match taken_by {
            None => own,
            Some(other) => {
                self.conflicts.push(format!(
                    "tool {own} of extension {} is offered as {qualified}: the name belongs to {other}",
                    owner.id
                ));
                qualified.clone()
            }
        };
        let description = match format {
            Format::Nexo => format!("[ext:{}] {}", owner.id, spec.description),
            Format::Native | Format::Zot | Format::Pi | Format::Python | Format::Mcp => spec.description.clone(),
        };
        let same = |old: &&Arc<ToolEntry>| {
            let says_the_same = old.from.is(&from) || old.spec == *spec;
            Arc::ptr_eq(&old.owner, owner) && says_the_same && old.held.as_ref() == held
        };
        let kept = before.tools.get(&name).filter(same).cloned();
        let entry = kept.unwrap_or_else(|| {
            Arc::new(ToolEntry {
                schemas: Arc::clone(&self.schemas),
                name: name.clone(),
                qualified_name: qualified.clone(),
                description,
                spec: spec.clone(),
                extension: owner.id.clone(),
                owner: Arc::clone(owner),
                from,
                held: held.cloned(),
                validator: OnceLock::new(),
            })
        });
        if self.tools.contains_key(&name) {
            self.conflicts
                .push(format!("extension {} registers tool {:?} twice; the first one serves", owner.id, spec.name));
            return;
        }
        self.tools.insert(name, Arc::clone(&entry));
        self.qualified.entry(qualified).or_insert(entry);
    }

    fn add_command(&mut self, owner: &Arc<Supervised>, spec: &CommandSpec, before: &Self, from: Source) {
        let qualified = format!("{}:{}", owner.id, spec.name);
        let taken_by = if BUILT_IN_COMMANDS.contains(&spec.name.as_str()) {
            Some("the host".to_owned())
        } else {
            self.commands.get(&spec.name).map(|other| format!("extension {}", other.extension))
        };
        let name = match taken_by {
            None => spec.name.clone(),
            Some(other) => {
                self.conflicts.push(format!(
                    "command /{} of extension {} is offered as /{qualified}: the name belongs to {other}",
                    spec.name, owner.id
                ));
                qualified.clone()
            }
        };
        let same = |old: &&Arc<CommandEntry>| Arc::ptr_eq(&old.owner, owner) && old.from.is(&from);
        let entry = before.commands.get(&name).filter(same).cloned().unwrap_or_else(|| {
            Arc::new(CommandEntry {
                name: name.clone(),
                qualified_name: qualified,
                spec: spec.clone(),
                extension: owner.id.clone(),
                owner: Arc::clone(owner),
                from,
            })
        });
        self.commands.entry(name).or_insert(entry);
    }

    fn add_channel(&mut self, owner: &Arc<Supervised>, spec: &ChannelSpec) {
        let qualified = format!("{}:{}", owner.id, spec.name);
        let taken_by = if BUILT_IN_CHANNELS.contains(&spec.name.as_str()) {
            Some("the host".to_owned())
        } else {
            self.channels.get(&spec.name).map(|other| format!("extension {}", other.extension))
        };
        let name = match taken_by {
            None => spec.name.clone(),
            Some(other) => {
                self.conflicts.push(format!(
                    "channel {} of extension {} is offered as {qualified}: the name belongs to {other}",
                    spec.name, owner.id
                ));
                qualified.clone()
            }
        };
        let entry = ChannelEntry {
            name: name.clone(),
            qualified_name: qualified,
            spec: spec.clone(),
            extension: owner.id.clone(),
            owner: Arc::clone(owner),
        };
        self.channels.entry(name).or_insert_with(|| Arc::new(entry));
    }

    fn add_hooks(&mut self, mut extensions: Vec<Arc<Supervised>>) {
        // Stable: within one priority the order of the levels and ids stays.
        extensions.sort_by_key(|owner| owner.found().manifest.priority);
        for owner in extensions {
            let found = owner.found();
            let is_guard = found.manifest.on_failure == Some(OnFailure::Deny);
            match found.standing {
                Standing::Active => {}
                // Its owner wants it asked or nothing to run; that it cannot run is no reason to leave it out.
                Standing::MissingRequirements { .. } | Standing::Unsupported { .. } | Standing::Changed { .. }
                    if is_guard => {}
                _ => continue,
            }
            let manifest = Arc::clone(&found.manifest);
            if owner.known_or_previous().is_some_and(|known| !known.contributions.events.is_empty()) {
                self.askers.push(HookEntry {
                    owner: Arc::clone(&owner),
                    on_failure: manifest.on_failure,
                    timeout_ms: manifest.limits.hook_timeout_ms,
                });
            }
            for point in owner.expected_hooks() {
                self.hooks.entry(point).or_default().push(HookEntry {
                    owner: Arc::clone(&owner),
                    on_failure: manifest.on_failure,
                    timeout_ms: manifest.limits.hook_timeout_ms,
                });
            }
        }
    }
}
