//! Variables in the settings of a server: `${NAME}` and `${NAME:-default}`, filled in when it starts and written nowhere.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackfield_protocol::{McpServer, McpTransport};

type Find = dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync;

/// Where variables are looked for that the environment does not have, such as the secrets that a person keeps.
#[derive(Clone, Default)]
pub struct Elsewhere(Option<Arc<Find>>);

impl Elsewhere {
    /// Asks `find`, whose error says why there is something that cannot be used.
    pub fn new(find: impl Fn(&str) -> Result<Option<String>, String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    fn find(&self, name: &str) -> Result<Option<String>, String> {
        self.0.as_ref().map_or(Ok(None), |find| find(name))
    }
}

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Elsewhere({})", self.0.is_some())
    }
}

/// What variables mean for one server.
pub(crate) struct Vars<'a> {
    /// The environment of the host, secrets included: who names one wants it passed on.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Asked for what is not in it.
    pub(crate) elsewhere: &'a Elsewhere,
    /// `${workspaceFolder}`.
    pub(crate) project: &'a Path,
    /// Where its settings are: `${CLAUDE_PLUGIN_ROOT}` and `${PLUGIN_ROOT}`.
    pub(crate) dir: &'a Path,
}

/// Where an HTTP server is, and the headers that it gets.
pub type HttpAddress = (String, BTreeMap<String, String>);

/// The address and the headers of an HTTP server with their variables filled in; nothing for one that is a process.
///
/// # Errors
/// A variable is not set.
pub fn http_address(
    server: &McpServer,
    env: &BTreeMap<String, String>,
    elsewhere: &Elsewhere,
    project: &Path,
    dir: &Path,
) -> Result<Option<HttpAddress>, String> {
    let McpTransport::Http { url, headers } = &server.transport else { return Ok(None) };
    Vars { env, elsewhere, project, dir }.address(url, headers).map(Some)
}

impl Vars<'_> {
    /// An address and headers, filled in.
    pub(crate) fn address(&self, url: &str, headers: &BTreeMap<String, String>) -> Result<HttpAddress, String> {
        let url = self.fill(url, "url")?;
        let fill =
            |(name, value): (&String, &String)| Ok((name.clone(), self.fill(value, &format!("headers.{name}"))?));
        Ok((url, headers.iter().map(fill).collect::<Result<_, String>>()?))
    }

    /// Fills in the variables of `text`; `what` is where it stands, for the error.
    ///
    /// # Errors
    /// A variable is not set, or can only be asked for by another program.
    pub(crate) fn fill(&self, text: &str, what: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            let Some((inside, after)) = from.get(2..).and_then(|from| from.split_once('}')) else { break };
            filled.push_str(before);
            filled.push_str(&self.value(inside, what)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, inside: &str, what: &str) -> Result<String, String> {
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let set = match name {
            "workspaceFolder" => Some(self.project.to_string_lossy().into_owned()),
            "workspaceFolderBasename" => self.project.file_name().map(|name| name.to_string_lossy().into_owned()),
            "CLAUDE_PLUGIN_ROOT" | "PLUGIN_ROOT" => Some(self.dir.to_string_lossy().into_owned()),
            "userHome" => self.env.get("HOME").or_else(|| self.env.get("USERPROFILE")).cloned(),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            name if name.starts_with("input:") => {
                return Err(format!(
                    "{what} wants ${{{name}}}, which only an editor can ask for; write ${{NAME}} and set the variable NAME"
                ));
            }
            // As in a shell, one that is empty counts as set unless there is a default.
            name => match self.env.get(name).filter(|value| default.is_none() || !value.is_empty()) {
                Some(value) => Some(value.clone()),
                None => self.elsewhere.find(name).map_err(|why| format!("{what} wants the variable {name}: {why}"))?,
            },
        };
        set.or_else(|| default.map(str::to_owned)).ok_or_else(|| {
            format!(
                "{what} wants the variable {name}, which is not set; set it (or run `jackfield secret set {name}`), or write ${{{name}:-default}}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned()), ("EMPTY".to_owned(), String::new())]);
        let elsewhere = Elsewhere::new(|name| match name {
            "KEPT" | "A" => Ok(Some("kept".to_owned())),
            "ODD" => Err("it is a link".to_owned()),
            _ => Ok(None),
        });
        let vars = Vars { env: &env, elsewhere: &elsewhere, project: Path::new("/p/q"), dir: Path::new("/d") };
        for (text, filled) in [
            ("plain $A {A}", "plain $A {A}"),
            ("x${A}y${A}", "x1y1"),
            ("${env:A}", "1"),
            ("${B:-two}", "two"),
            ("${B:-}", ""),
            ("${EMPTY:-two}|${EMPTY}", "two|"),
            ("${workspaceFolder}/x", "/p/q/x"),
            ("open ${A", "open ${A"),
            ("${PLUGIN_ROOT}/s", "/d/s"),
            ("${KEPT}", "kept"),
            ("${KEPT:-default}", "kept"),
        ] {
            assert_eq!(vars.fill(text, "env.X").as_deref(), Ok(filled), "{text}");
        }
        let error = vars.fill("${B}", "env.X").expect_err("not set");
        assert!(error.contains("env.X") && error.contains("B") && error.contains(":-"), "{error}");
        let error = vars.fill("${ODD:-x}", "url").expect_err("not usable");
        assert!(error.contains("url") && error.contains("ODD") && error.contains("a link"), "{error}");
        assert!(vars.fill("${input:token}", "env.X").expect_err("an editor's").contains("editor"));
    }
}
