//! What the code seems to need, gathered into capabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jackfield_protocol::{Capability, Power, Scope};

/// How many places a reason names.
const MAX_SHOWN_PLACES: usize = 3;
/// More values than this are no limit that anyone would read.
const MAX_VALUES: usize = 64;

#[derive(Default)]
struct Need {
    values: BTreeSet<String>,
    /// Something is needed that cannot be seen.
    open: bool,
    places: Vec<String>,
}

/// All needs of an extension.
#[derive(Default)]
pub(super) struct Needs {
    needs: BTreeMap<Power, Need>,
}

impl Needs {
    /// `value` is the path, program, host, variable or tool; nothing where it cannot be seen.
    pub(super) fn add(&mut self, power: Power, value: Option<String>, file: &Path, line: u32) {
        let need = self.needs.entry(power).or_default();
        match value {
            Some(value) if need.values.len() < MAX_VALUES => {
                need.values.insert(value);
            }
            _ => need.open = true,
        }
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let place = format!("{name}:{line}");
        if !need.places.contains(&place) {
            need.places.push(place);
        }
    }

    /// As a manifest asks for them.
    pub(super) fn capabilities(self) -> Vec<Capability> {
        let capability = |(power, need): (Power, Need)| {
            let values: Vec<String> = if need.open { Vec::new() } else { need.values.into_iter().collect() };
            let mut scope = Scope::default();
            match power {
                Power::Read | Power::Write => scope.paths = values,
                Power::Exec => scope.programs = values,
                Power::Http | Power::Listen => scope.hosts = values,
                Power::Env => scope.env = values,
                Power::Tool => scope.tools = values,
                Power::Session | Power::Ui | Power::Agent | Power::Events | Power::Log => {}
            }
            let more = need.places.len().saturating_sub(MAX_SHOWN_PLACES);
            let shown = need.places.iter().take(MAX_SHOWN_PLACES).cloned().collect::<Vec<_>>().join(", ");
            let reason = if more > 0 { format!("used in {shown} and {more} more") } else { format!("used in {shown}") };
            Capability { power, methods: Vec::new(), scope, reason: Some(reason) }
        };
        self.needs.into_iter().map(capability).collect()
    }
}
