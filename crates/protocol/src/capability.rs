//! Capabilities: one power with its scope, what a host call needs of it, and whether the one covers the other.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::lenient::null_default;
use crate::{glob_escaped, glob_matches};

/// The powers an extension can ask for. The key of `pi.ext.cap.v1` and of `host_call.capability`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// Read files: those below the project, and others that a scope names.
    Read,
    /// Write files: those below the project, and others that a scope names.
    Write,
    /// Run programs.
    Exec,
    /// Speak to a host.
    Http,
    /// Wait for others to connect.
    Listen,
    /// Read an environment variable of the host.
    Env,
    /// Call a tool of another extension.
    Tool,
    /// Read and change the session.
    Session,
    /// Ask or tell the person.
    Ui,
    /// Make the agent speak or act.
    Agent,
    /// Send events to other extensions.
    Events,
    /// Write to the log.
    Log,
}

impl Power {
    /// Every power, in the order of the listing.
    pub const ALL: [Self; 12] = [
        Self::Read,
        Self::Write,
        Self::Exec,
        Self::Http,
        Self::Listen,
        Self::Env,
        Self::Tool,
        Self::Session,
        Self::Ui,
        Self::Agent,
        Self::Events,
        Self::Log,
    ];

    /// The key as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Http => "http",
            Self::Listen => "listen",
            Self::Env => "env",
            Self::Tool => "tool",
            Self::Session => "session",
            Self::Ui => "ui",
            Self::Agent => "agent",
            Self::Events => "events",
            Self::Log => "log",
        }
    }

    /// Reads a key.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|power| power.as_str() == key)
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a capability is limited to. An empty list limits nothing; a list that does not concern the power is ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scope {
    /// For `read` and `write`: globs relative to the project, or absolute ones (`~/` is the person's own folder), without
    /// which nothing outside the project is covered.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// For `http` and `listen`: `host`, `*.domain`, either with `:port`. Without them `listen` covers this machine's own
    /// addresses only.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// For `env`: globs of variable names.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// For `tool`: globs of tool names.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// For `exec`: globs of program names.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
}

impl Scope {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// One power with its scope: asked for in a manifest, or granted by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capability {
    /// The power.
    #[serde(rename = "capability")]
    pub power: Power,
    /// The connector methods it may be used through; empty means any.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// What it is limited to.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Scope::is_unlimited")]
    pub scope: Scope,
    /// Why the extension wants it, for the person who is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Capability {
    /// The whole power, without limits.
    pub fn unlimited(power: Power) -> Self {
        Self { power, methods: Vec::new(), scope: Scope::default(), reason: None }
    }

    /// Exactly what one need asks for. A name is no pattern: a file called `*` grants that file alone.
    pub fn exactly(need: &Need) -> Self {
        let mut scope = Scope::default();
        match &need.resource {
            Resource::Path(path) => scope.paths.push(exact_path(path)),
            Resource::Tree(folder) => scope.paths.push(below(&exact_path(folder))),
            Resource::Host(host) => scope.hosts.push(host.clone()),
            Resource::Variable(name) => scope.env.push(glob_escaped(name)),
            Resource::Tool(name) => scope.tools.push(glob_escaped(name)),
            Resource::Program(name) => scope.programs.push(glob_escaped(name)),
            Resource::Whole => {}
        }
        Self { power: need.power, methods: Vec::new(), scope, reason: None }
    }

    /// Whether this capability is enough for `need`. What lies outside the project, or lets other machines in, is covered
    /// only where a scope names it.
    pub fn covers(&self, need: &Need) -> bool {
        let named = match &need.resource {
            Resource::Path(path) if path.starts_with('/') => {
                self.scope.paths.iter().any(|pattern| pattern.starts_with('/') && path_matches(pattern, path))
            }
            Resource::Tree(folder) if folder.starts_with('/') => {
                self.scope.paths.iter().any(|pattern| pattern.starts_with('/') && tree_matches(pattern, folder))
            }
            Resource::Host(host) if need.power == Power::Listen && !is_loopback(host) => {
                self.scope.hosts.iter().any(|pattern| host_matches(pattern, host))
            }
            _ => true,
        };
        named && self.touches(need)
    }

    /// Whether `need` is within this capability where it denies: without a scope that is everything.
    pub fn touches(&self, need: &Need) -> bool {
        if self.power != need.power {
            return false;
        }
        if !self.methods.is_empty() && !self.methods.iter().any(|method| method == need.method) {
            return false;
        }
        let any = |patterns: &[String], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| glob_matches(pattern, text))
        };
        match &need.resource {
            Resource::Path(path) => {
                self.scope.paths.is_empty() || self.scope.paths.iter().any(|pattern| path_matches(pattern, path))
            }
            Resource::Tree(folder) => {
                self.scope.paths.is_empty() || self.scope.paths.iter().any(|pattern| tree_matches(pattern, folder))
            }
            Resource::Host(host) => {
                self.scope.hosts.is_empty() || self.scope.hosts.iter().any(|pattern| host_matches(pattern, host))
            }
            Resource::Variable(name) => any(&self.scope.env, name),
            Resource::Tool(name) => any(&self.scope.tools, name),
            Resource::Program(name) => any(&self.scope.programs, name),
            Resource::Whole => true,
        }
    }
}

/// A path pattern covers what it matches, and a folder's pattern (`src/`) the folder and all that is below it.
fn path_matches(pattern: &str, path: &str) -> bool {
    let pattern = without_dot(pattern);
    match pattern.strip_suffix('/') {
        Some(folder) => is_within(folder, path),
        None => glob_matches(pattern, path),
    }
}

/// Whether a pattern covers everything below a folder.
fn tree_matches(pattern: &str, folder: &str) -> bool {
    let pattern = without_dot(pattern);
    if pattern == "**" {
        return !folder.starts_with('/');
    }
    pattern.strip_suffix("/**").or_else(|| pattern.strip_suffix('/')).is_some_and(|base| is_within(base, folder))
}

/// A pattern without `./` before it; `./` alone is the whole project.
fn without_dot(pattern: &str) -> &str {
    match pattern.strip_prefix("./") {
        Some("") => "**",
        Some(rest) => rest,
        None => pattern,
    }
}

/// Whether a path, or a folder that it is in, matches a pattern. The empty pattern is the root of all absolute paths.
fn is_within(folder: &str, path: &str) -> bool {
    if folder.is_empty() {
        return path.starts_with('/');
    }
    let mut place = Some(path);
    while let Some(path) = place {
        if glob_matches(folder, path) {
            return true;
        }
        place = path.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty());
    }
    false
}

/// The pattern that covers this path alone. A folder called `~` is not the person's own.
fn exact_path(path: &str) -> String {
    glob_escaped(&at_project(path))
}

/// The path with a begin that cannot be taken for the person's own folder.
fn at_project(path: &str) -> Cow<'_, str> {
    if path == "~" || path.starts_with("~/") { format!("./{path}").into() } else { path.into() }
}

/// The pattern for everything below a folder, whose own pattern is given.
fn below(folder: &str) -> String {
    match folder {
        "." => "**".to_owned(),
        "/" => "/**".to_owned(),
        folder => format!("{folder}/**"),
    }
}

/// Whether an address is one that only this machine reaches.
pub(crate) fn is_loopback(host: &str) -> bool {
    let (host, _) = split_port(host);
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare == "localhost" || bare.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `api.x.org` covers every port of that host; `api.x.org:443` that one; `*.x.org` every host below `x.org`.
fn host_matches(pattern: &str, need: &str) -> bool {
    let (host, port) = split_port(need);
    let (wanted, wanted_port) = split_port(pattern);
    if wanted_port.is_some() && wanted_port != port {
        return false;
    }
    let (wanted, host) = (wanted.to_ascii_lowercase(), host.to_ascii_lowercase());
    match wanted.strip_prefix("*.") {
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => wanted == "*" || wanted == host,
    }
}

fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            // `::1` without brackets has no port.
            if host.contains(':') && !host.ends_with(']') { (text, None) } else { (host, Some(port)) }
        }
        _ => (text, None),
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.power)?;
        let scope = &self.scope;
        for (name, list) in [
            ("paths", &scope.paths),
            ("hosts", &scope.hosts),
            ("env", &scope.env),
            ("tools", &scope.tools),
            ("programs", &scope.programs),
        ] {
            if !list.is_empty() {
                write!(f, " {name}={}", list.join(","))?;
            }
        }
        Ok(())
    }
}

/// The `pi.ext.cap.v1` document of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapabilityManifest {
    /// Always `pi.ext.cap.v1`.
    pub schema: String,
    /// What the extension asks for.
    pub capabilities: Vec<Capability>,
}

impl CapabilityManifest {
    /// The only schema there is.
    pub const SCHEMA: &'static str = "pi.ext.cap.v1";
}

/// The exact thing that a host call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum Resource {
    /// A file with links resolved: relative to the project, or absolute where it is elsewhere.
    Path(String),
    /// Everything below a folder, as the host asks for it in one question. The folder as in `Path`.
    Tree(String),
    /// `host:port`.
    Host(String),
    /// An environment variable.
    Variable(String),
    /// A tool by its public name.
    Tool(String),
    /// A program.
    Program(String),
    /// The power has no parts.
    Whole,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(&at_project(path)),
            Self::Tree(folder) => f.write_str(&below(&at_project(folder))),
            Self::Host(x) | Self::Variable(x) | Self::Tool(x) | Self::Program(x) => f.write_str(x),
            Self::Whole => f.write_str("*"),
        }
    }
}

/// What one host call needs: derived by the host from the call, never taken from the extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The power.
    pub power: Power,
    /// The connector method.
    pub method: &'static str,
    /// The exact resource.
    pub resource: Resource,
}

impl Need {
    /// Whether it is about a file outside the project.
    pub fn is_outside(&self) -> bool {
        matches!(&self.resource, Resource::Path(path) | Resource::Tree(path) if path.starts_with('/'))
    }

    /// Whether it lets other machines connect.
    pub fn lets_in(&self) -> bool {
        matches!(&self.resource, Resource::Host(host) if self.power == Power::Listen && !is_loopback(host))
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.resource {
            Resource::Whole => write!(f, "{}", self.power),
            resource => write!(f, "{} {resource}", self.power),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(capability: &str, need: (Power, &'static str, Resource), covered: bool) {
        let capability: Capability = serde_json::from_str(capability).expect("a capability");
        let need = Need { power: need.0, method: need.1, resource: need.2 };
        assert_eq!(capability.covers(&need), covered, "{capability} against {need}");
    }

    #[test]
    fn covers() {
        let path = |p: &str| (Power::Read, "fs", Resource::Path(p.into()));
        check(r#"{"capability":"read"}"#, path("a/b"), true);
        check(r#"{"capability":"write"}"#, path("a/b"), false);
        check(r#"{"capability":"read","scope":{"paths":["src/**"]}}"#, path("src/a.rs"), true);
        check(r#"{"capability":"read","scope":{"paths":["src/**"]}}"#, path("secret"), false);
        check(r#"{"capability":"read","scope":{"paths":["src/"]}}"#, path("src/a/b"), true);
        check(r#"{"capability":"read","scope":{"paths":["src/"]}}"#, path("srcs"), false);
        check(r#"{"capability":"read","scope":{"paths":["s*/"]}}"#, path("src/a/b"), true);
        check(r#"{"capability":"read","scope":{"paths":["s*/"]}}"#, path("a/src/b"), false);
        check(r#"{"capability":"read","scope":{"paths":["./"]}}"#, path("src/a"), true);
        check(r#"{"capability":"read","scope":{"paths":["./"]}}"#, path("/etc/x"), false);
        check(r#"{"capability":"read","methods":["tool"]}"#, path("a"), false);
        check(r#"{"capability":"read","scope":null,"methods":null}"#, path("a"), true);
    }

    #[test]
    fn everything_below_a_folder_takes_a_pattern_for_all_of_it() {
        let tree = |p: &str| (Power::Read, "fs", Resource::Tree(p.into()));
        let cap = |p: &str| format!(r#"{{"capability":"read","scope":{{"paths":["{p}"]}}}}"#);
        check(r#"{"capability":"read"}"#, tree("src"), true);
        check(r#"{"capability":"read"}"#, tree("/etc"), false);
        for pattern in ["src/**", "src/", "**", "./**", "s*/**", "s*/", "./"] {
            check(&cap(pattern), tree("src"), true);
            check(&cap(pattern), tree("src/deep/er"), true);
        }
        for pattern in ["src", "src/*", "src/**/x", "src/deep/**", "/**"] {
            check(&cap(pattern), tree("src"), false);
        }
        check(&cap("src/**"), tree("."), false);
        check(&cap("**"), tree("."), true);
        check(&cap("**"), tree("/etc"), false);
        check(&cap("/**"), tree("/etc/ssl"), true);
        check(&cap("/etc/**"), tree("/etc/ssl"), true);
        check(&cap("/etc/ssl/**"), tree("/etc"), false);
    }

    #[test]
    fn a_name_is_no_pattern() {
        let need = |resource| Need { power: Power::Read, method: "fs", resource };
        for name in ["**", "*", "a?", r"a\*", "~/x", r"\", "plain"] {
            let exact = Capability::exactly(&need(Resource::Path(name.into())));
            assert!(exact.covers(&need(Resource::Path(name.into()))), "{name}");
            for other in ["a", "ab", "src/a.rs", "a\\b", "/home/u/x"] {
                assert!(!exact.covers(&need(Resource::Path(other.into()))), "{name} {other}");
            }
            assert!(!exact.scope.paths[0].starts_with('~'), "{name}");
        }
        let tree = Capability::exactly(&need(Resource::Tree("a*".into())));
        assert!(
            tree.covers(&need(Resource::Path("a*/b".into()))) && !tree.covers(&need(Resource::Path("ab/b".into())))
        );
    }

    #[test]
    fn only_a_scope_that_names_it_covers_what_is_outside() {
        let path = |p: &str| (Power::Read, "fs", Resource::Path(p.into()));
        let cap = |p: &str| format!(r#"{{"capability":"read","scope":{{"paths":["{p}"]}}}}"#);
        check(r#"{"capability":"read"}"#, path("/etc/passwd"), false);
        check(&cap("**"), path("/etc/passwd"), false);
        check(&cap("/etc/**"), path("/etc/passwd"), true);
        check(&cap("/etc/"), path("/etc/passwd"), true);
        check(&cap("/etc/*"), path("/etc/ssl/private"), false);
        check(&cap("/**"), path("src/a"), false);
        let listen = |h: &str| (Power::Listen, "net", Resource::Host(h.into()));
        check(r#"{"capability":"listen"}"#, listen("127.0.0.1:80"), true);
        check(r#"{"capability":"listen"}"#, listen("[::1]:80"), true);
        check(r#"{"capability":"listen"}"#, listen("0.0.0.0:80"), false);
        check(r#"{"capability":"listen","scope":{"hosts":["0.0.0.0"]}}"#, listen("0.0.0.0:80"), true);
        let all = Capability::unlimited(Power::Read);
        assert!(all.touches(&Need { power: Power::Read, method: "fs", resource: Resource::Path("/etc".into()) }));
    }

    #[test]
    fn hosts() {
        let host = |h: &str| (Power::Http, "http", Resource::Host(h.into()));
        let cap = |h: &str| format!(r#"{{"capability":"http","scope":{{"hosts":["{h}"]}}}}"#);
        check(&cap("api.github.com"), host("api.github.com:443"), true);
        check(&cap("API.github.com"), host("api.GitHub.com:443"), true);
        check(&cap("api.github.com:443"), host("api.github.com:80"), false);
        check(&cap("*.github.com"), host("api.github.com:443"), true);
        check(&cap("*.github.com"), host("github.com:443"), false);
        check(&cap("*.github.com"), host("evilgithub.com:443"), false);
        check(&cap("github.com"), host("github.com.evil.org:443"), false);
        check(&cap("[::1]:80"), host("[::1]:80"), true);
    }
}
