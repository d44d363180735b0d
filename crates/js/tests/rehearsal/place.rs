//! A home with a host in it, and extensions for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_host::{Caller, Home, Host, HostOptions, Mode, ToolCall, YesToAll};
use jackfield_js::{JsOptions, JsRuntime};
use jackfield_protocol::ExtensionId;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) project: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path");
        let env = [("HOME", root.join("user")), ("PATH", "/usr/bin:/bin".into())];
        let env = env.map(|(name, value)| (name.to_owned(), value.display().to_string())).into();
        let place = Self { project: root.join("project"), dir, env };
        for folder in ["user", "project", "other", "ext"] {
            fs::create_dir(place.path(folder)).expect("made");
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a path").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("ext").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    pub(crate) async fn open(&self, script: &Path) -> Running {
        self.try_open(script).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn try_open(&self, script: &Path) -> Result<Running, String> {
        let home = self.path("home");
        let runtime = JsRuntime::new(JsOptions { cache: Some(home.join("code")), ..JsOptions::default() });
        let host = Host::open(HostOptions {
            ext: vec![script.to_owned()],
            mode: Some(Mode::Permissive),
            env: self.env.clone(),
            runtimes: vec![Arc::new(runtime)],
            approver: Arc::new(YesToAll),
            only_ext: true,
            ..HostOptions::new(Home::at(home), self.project.clone())
        })
        .expect("a host");
        let id = host.report().extensions.first().expect("found").manifest.id.clone();
        match host.start(&id, PATIENCE).await {
            Ok(()) => Ok(Running { host, id }),
            Err(error) => {
                host.shutdown().await;
                Err(error.message)
            }
        }
    }

    /// Starts it until it has been rehearsed, and then once more.
    pub(crate) async fn known(&self, script: &Path) -> Running {
        for _ in 0..2 {
            self.open(script).await.end().await;
            jackfield_js::settle();
        }
        self.open(script).await
    }

    pub(crate) fn kept(&self) -> Vec<u8> {
        fs::read(self.path("home/code/scripts.pack")).expect("there")
    }
}

pub(crate) struct Running {
    pub(crate) host: Host,
    pub(crate) id: ExtensionId,
}

impl Running {
    pub(crate) fn was_kept(&self) -> bool {
        self.host.code(&self.id).expect("told")["kept"] == json!(true)
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> String {
        let outcome = self.host.call_tool(ToolCall::by(Caller::Person, tool, args)).await;
        let result = outcome.result.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
        let value = serde_json::to_value(&result).expect("plain");
        value["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
    }

    pub(crate) async fn end(self) {
        self.host.shutdown().await;
    }
}

/// An extension whose tool `say` answers with what `answer` is then, and whose top level is `top`.
pub(crate) fn saying(top: &str, answer: &str) -> String {
    format!(
        "{top}\nexport default async function (pi) {{\n  pi.registerTool({{ name: 'say', label: 'Say', description: 'Says it',\n    \
         parameters: {{ type: 'object', properties: {{}} }},\n    \
         async execute() {{ return {{ content: [{{ type: 'text', text: String({answer}) }}] }}; }} }});\n}}\n"
    )
}
