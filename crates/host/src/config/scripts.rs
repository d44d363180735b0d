//! The tables `[js]`, `[wasm]` and `[extensions.ID]`: where the engines of scripts run, and within which bounds they and
//! components do.

use std::collections::BTreeMap;
use std::path::Path;

use jackfield_protocol::{ExtensionId, Isolation, Manifest};
use toml::{Table, Value};

const JS_KEYS: [&str; 3] = ["isolation", "memory_mb", "cpu_ms"];
const WASM_KEYS: [&str; 2] = ["memory_mb", "cpu_ms"];
const EXTENSION_KEYS: [&str; 2] = ["isolation", "trusted"];

/// What the configuration says about scripts and components.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptSettings {
    /// Where engines run if neither the configuration nor the manifest says.
    pub isolation: Option<Isolation>,
    /// The most memory of one engine.
    pub memory_mb: Option<u64>,
    /// How long a script may run without a pause.
    pub cpu_ms: Option<u64>,
    /// The most memory of one component, over all its instances.
    pub component_memory_mb: Option<u64>,
    /// How long a component may compute in one call.
    pub component_cpu_ms: Option<u64>,
    extensions: BTreeMap<ExtensionId, Own>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Own {
    isolation: Option<Isolation>,
    trusted: bool,
}

impl ScriptSettings {
    /// Where the engine of this extension runs; nothing leaves it to the runtime. What the person wrote about the extension
    /// comes first. Its author may ask for a process of its own, and never for less.
    pub fn isolation_of(&self, manifest: &Manifest) -> Option<Isolation> {
        let own = self.extensions.get(&manifest.id).copied().unwrap_or_default();
        match (own, manifest.isolation) {
            (Own { isolation: Some(isolation), .. }, _) => Some(isolation),
            (Own { trusted: true, .. }, _) => Some(Isolation::Thread),
            (_, Some(Isolation::Process)) => Some(Isolation::Process),
            (_, Some(Isolation::Thread) | None) => self.isolation,
        }
    }

    /// Reads these tables; gives warnings about unknown keys.
    pub(super) fn read(document: &Table, file: &Path) -> Result<(Self, Vec<String>), String> {
        let reader = Reader { file };
        let mut warnings = Vec::new();
        let mut settings = Self::default();
        if let Some(table) = reader.table(document, "js", "js")? {
            settings.isolation = reader.isolation(table, "js")?;
            settings.memory_mb = reader.number(table, "js", "memory_mb")?;
            settings.cpu_ms = reader.number(table, "js", "cpu_ms")?;
            warnings.extend(strays(table, "js", &JS_KEYS));
        }
        if let Some(table) = reader.table(document, "wasm", "wasm")? {
            settings.component_memory_mb = reader.number(table, "wasm", "memory_mb")?;
            settings.component_cpu_ms = reader.number(table, "wasm", "cpu_ms")?;
            warnings.extend(strays(table, "wasm", &WASM_KEYS));
        }
        if let Some(extensions) = reader.table(document, "extensions", "extensions")? {
            for id in extensions.keys() {
                let name = format!("extensions.{id}");
                let Some(table) = reader.table(extensions, id, &name)? else { continue };
                let trusted = match table.get("trusted") {
                    None => false,
                    Some(Value::Boolean(trusted)) => *trusted,
                    Some(other) => return Err(reader.wrong(&format!("{name}.trusted"), "true or false", other)),
                };
                let own = Own { isolation: reader.isolation(table, &name)?, trusted };
                settings.extensions.insert(ExtensionId::new(id.clone()), own);
                warnings.extend(strays(table, &name, &EXTENSION_KEYS));
            }
        }
        Ok((settings, warnings))
    }
}

fn strays(table: &Table, name: &str, known: &[&str]) -> Vec<String> {
    let unknown = table.keys().filter(|key| !known.contains(&key.as_str()));
    unknown.map(|key| format!("{name}.{key} is unknown and has no effect; the keys are {}", known.join(", "))).collect()
}

struct Reader<'a> {
    file: &'a Path,
}

impl Reader<'_> {
    fn wrong(&self, key: &str, expected: &str, found: &Value) -> String {
        format!("cannot read {}: {key}: expected {expected}, found {found}", self.file.display())
    }

    fn table<'t>(&self, document: &'t Table, key: &str, name: &str) -> Result<Option<&'t Table>, String> {
        match document.get(key) {
            None => Ok(None),
            Some(Value::Table(table)) => Ok(Some(table)),
            Some(other) => Err(self.wrong(name, "a table", other)),
        }
    }

    fn isolation(&self, table: &Table, name: &str) -> Result<Option<Isolation>, String> {
        match table.get("isolation") {
            None => Ok(None),
            Some(Value::String(word)) if word == "thread" => Ok(Some(Isolation::Thread)),
            Some(Value::String(word)) if word == "process" => Ok(Some(Isolation::Process)),
            Some(other) => Err(self.wrong(&format!("{name}.isolation"), "\"thread\" or \"process\"", other)),
        }
    }

    fn number(&self, table: &Table, name: &str, key: &str) -> Result<Option<u64>, String> {
        let Some(value) = table.get(key) else { return Ok(None) };
        match value.as_integer().and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(&format!("{name}.{key}"), "a number above 0", value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(ScriptSettings, Vec<String>), String> {
        ScriptSettings::read(&text.parse().expect("TOML"), Path::new("config.toml"))
    }

    #[test]
    fn both_tables() {
        let text = "[js]\nisolation = \"thread\"\nmemory_mb = 64\ncpu_ms = 500\nspeed = 9\n\
                    [extensions.a]\nisolation = \"process\"\n[extensions.b]\ntrusted = true\ncolour = 1\n";
        let (settings, warnings) = read(text).expect("read");
        assert_eq!((settings.memory_mb, settings.cpu_ms), (Some(64), Some(500)));
        assert_eq!(
            warnings,
            [
                "js.speed is unknown and has no effect; the keys are isolation, memory_mb, cpu_ms",
                "extensions.b.colour is unknown and has no effect; the keys are isolation, trusted",
            ]
        );
        for (text, error) in [
            ("js = 1", "cannot read config.toml: js: expected a table, found 1"),
            (
                "[js]\nisolation = \"vm\"",
                "cannot read config.toml: js.isolation: expected \"thread\" or \"process\", found \"vm\"",
            ),
            ("[js]\nmemory_mb = 0", "cannot read config.toml: js.memory_mb: expected a number above 0, found 0"),
            ("[extensions]\na = 1", "cannot read config.toml: extensions.a: expected a table, found 1"),
            (
                "[extensions.a]\ntrusted = \"yes\"",
                "cannot read config.toml: extensions.a.trusted: expected true or false, found \"yes\"",
            ),
        ] {
            assert_eq!(read(text).expect_err("refused"), error);
        }
    }

    #[test]
    fn an_author_may_ask_for_more_isolation_and_never_for_less() {
        use Isolation::{Process, Thread};
        let text =
            "[extensions.named]\nisolation = \"process\"\ntrusted = true\n[extensions.trusted]\ntrusted = true\n";
        let check = |by_default: Option<Isolation>, id: &str, author: Option<Isolation>, runs: Option<Isolation>| {
            let (settings, _) = read(text).expect("read");
            let settings = ScriptSettings { isolation: by_default, ..settings };
            let mut manifest: Manifest = serde_json::from_value(serde_json::json!({
                "id": id, "name": id, "format": "pi", "runtime": "js", "launch": { "kind": "js", "entry": "a.ts" },
                "enabled": true,
            }))
            .expect("a manifest");
            manifest.isolation = author;
            assert_eq!(settings.isolation_of(&manifest), runs, "{by_default:?} {id} {author:?}");
        };
        check(None, "x", None, None);
        check(Some(Process), "x", Some(Thread), Some(Process));
        check(None, "x", Some(Thread), None);
        check(Some(Thread), "x", Some(Process), Some(Process));
        check(Some(Process), "trusted", None, Some(Thread));
        check(Some(Thread), "named", Some(Thread), Some(Process));
    }
}
