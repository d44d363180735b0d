//! The builder of a host: every choice has a default.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_host::{Agent, Answer, Approver, Face, Home, HostOptions, Mode, Question};
use jackfield_protocol::RuntimeKind;
use jackfield_runtime::{BoxFuture, Runtime};

use crate::places::{default_home, environment, home_at, project_dir};
use crate::{Children, Host, OpenError};

/// The choices for a host. Made by [`Host::builder`]; [`HostBuilder::open`] opens the host.
///
/// Every choice has a default. A program without any choice shares home, extensions and ledger with the `jackfield`
/// binary, works on the current directory and says no to every permission question.
///
/// ```standalone_crate
/// # use std::sync::Arc;
/// use jackfield::{Children, Host, Mode, NoApprover, RuntimeKind};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> { tokio::runtime::Runtime::new()?.block_on(async {
/// # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// let host = Host::builder()
///     .home(home.path())
///     .project(project.path())
///     .extension("../../examples/hello-sh")
///     .only_named_extensions()
///     .policy(Mode::Strict)
///     .env([("LANG".to_owned(), "C".to_owned())].into())
///     .approver(Arc::new(NoApprover))
///     .without_runtime(RuntimeKind::Wasm)
///     .children(Children::Without)
///     .open()?;
/// let found: Vec<String> = host.report().extensions.iter().map(|found| found.manifest.id.to_string()).collect();
/// assert_eq!(found, ["hello-sh"]);
/// # Ok(()) }) }
/// ```
#[derive(Default)]
#[must_use = "a builder does nothing until `open` is called"]
pub struct HostBuilder {
    home: Option<PathBuf>,
    project: Option<PathBuf>,
    extensions: Vec<PathBuf>,
    only_named: bool,
    mode: Option<Mode>,
    env: Option<BTreeMap<String, String>>,
    approver: Option<Arc<dyn Approver>>,
    face: Option<Arc<dyn Face>>,
    agent: Option<Arc<dyn Agent>>,
    session_file: Option<PathBuf>,
    children: Children,
    runtimes: Vec<Arc<dyn Runtime>>,
    without: Vec<RuntimeKind>,
}

impl HostBuilder {
    /// The directory of the host's own files. Default: [`default_home`], which the `jackfield` binary uses as well, so
    /// that both see the same extensions, grants and ledger.
    pub fn home(mut self, dir: impl Into<PathBuf>) -> Self {
        self.home = Some(dir.into());
        self
    }

    /// The project to work on. Default: the current directory. Its extensions run only if it is trusted.
    pub fn project(mut self, dir: impl Into<PathBuf>) -> Self {
        self.project = Some(dir.into());
        self
    }

    /// One more extension for this host alone. It wins over an installed one of the same id.
    pub fn extension(mut self, path: impl Into<PathBuf>) -> Self {
        self.extensions.push(path.into());
        self
    }

    /// Leaves out every extension that [`HostBuilder::extension`] does not name.
    pub fn only_named_extensions(mut self) -> Self {
        self.only_named = true;
        self
    }

    /// What policy does with a request that no rule decides. Default: `config.toml` of the home, else
    /// [`Mode::Prompt`].
    pub fn policy(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The environment that extensions may get variables from. Default: that of this process.
    pub fn env(mut self, env: BTreeMap<String, String>) -> Self {
        self.env = Some(env);
        self
    }

    /// Answers permission questions. Default: every question is answered with no.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Answers permission questions with an async function.
    ///
    /// ```
    /// use jackfield::{Answer, Host, Power};
    ///
    /// // Reading is fine this time; everything else is not.
    /// let builder = Host::builder().approve_with(async |question| match question.need.power {
    ///     Power::Read => Answer::Once,
    ///     _ => Answer::No,
    /// });
    /// # drop(builder);
    /// ```
    pub fn approve_with<F, R>(self, ask: F) -> Self
    where
        F: Fn(Question) -> R + Send + Sync + 'static,
        R: Future<Output = Answer> + Send + 'static,
    {
        self.approver(Arc::new(Asking(ask)))
    }

    /// Answers the dialogs of extensions. Default: no person is there.
    pub fn face(mut self, face: Arc<dyn Face>) -> Self {
        self.face = Some(face);
        self
    }

    /// Serves what extensions ask of the agent. Default: every such request is refused.
    pub fn agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// The file of the session's entries. Default: the entries last as long as the host.
    pub fn session_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.session_file = Some(file.into());
        self
    }

    /// The program that the host starts as its own child processes. Default: [`Children::ThisProgram`].
    pub fn children(mut self, children: Children) -> Self {
        self.children = children;
        self
    }

    /// A runtime in place of the builder's own of the same kind. The last one of a kind wins.
    ///
    /// ```
    /// # #[cfg(feature = "js")] {
    /// use std::sync::Arc;
    ///
    /// use jackfield::runtimes::{JsRuntime, js_options};
    /// use jackfield::{Children, Home, Host};
    ///
    /// let home = Home::at("/path/of/home");
    /// let mut options = js_options(&home, &Children::ThisProgram);
    /// options.cache = None;
    /// let builder = Host::builder().home(home.root()).runtime(Arc::new(JsRuntime::new(options)));
    /// # drop(builder);
    /// # }
    /// ```
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtimes.retain(|other| other.kind() != runtime.kind());
        self.runtimes.push(runtime);
        self
    }

    /// Leaves a runtime out. Extensions of this kind are found, but do not start.
    pub fn without_runtime(mut self, kind: RuntimeKind) -> Self {
        self.runtimes.retain(|other| other.kind() != kind);
        self.without.push(kind);
        self
    }

    /// Opens the host: finds extensions and learns from the catalogue what they contribute. Starts none of them.
    ///
    /// Ends the processes that a killed host of the same home left behind.
    ///
    /// ```
    /// use jackfield::{Host, OpenError};
    ///
    /// // Neither `child_main` nor a tokio runtime: nothing is opened, and nothing is written.
    /// assert!(matches!(Host::builder().open(), Err(OpenError::NoChildMain)));
    /// jackfield::child_main();
    /// assert!(matches!(Host::builder().open(), Err(OpenError::NoAsyncRuntime)));
    /// ```
    ///
    /// # Errors
    /// The home, the project, the configuration or the ledger cannot be used; [`child_main`](crate::child_main) was not
    /// called; or there is no tokio runtime.
    pub fn open(self) -> Result<Host, OpenError> {
        if !self.children.are_ready() {
            return Err(OpenError::NoChildMain);
        }
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(OpenError::NoAsyncRuntime);
        }
        let home = match &self.home {
            Some(dir) => home_at(dir)?,
            None => default_home()?,
        };
        let project = project_dir(self.project.as_deref())?;
        let env = self.env.clone().unwrap_or_else(environment);
        let runtimes = self.all_runtimes(&home, &project, &env)?;
        let Self { extensions, only_named, mode, approver, face, agent, session_file, children, .. } = self;
        let defaults = HostOptions::new(home, project);
        let host = jackfield_host::Host::open(HostOptions {
            ext: extensions,
            only_ext: only_named,
            mode,
            env,
            runtimes,
            approver: approver.unwrap_or(defaults.approver),
            face: face.unwrap_or(defaults.face),
            agent: agent.unwrap_or(defaults.agent),
            session_file,
            // The keeper is part of `process`.
            keeper: children.program().filter(|_| cfg!(feature = "process")),
            ..defaults
        })?;
        #[cfg(feature = "channels")]
        if !only_named {
            jackfield_channels::Channels::new(&host).offer_tools();
        }
        Ok(Host::from(host))
    }

    /// The runtimes that the builder was given, and those of this build for every other kind.
    fn all_runtimes(
        &self,
        home: &Home,
        project: &std::path::Path,
        env: &BTreeMap<String, String>,
    ) -> Result<Vec<Arc<dyn Runtime>>, OpenError> {
        #[allow(unused_mut, reason = "a build without features has no runtime of its own")]
        let mut runtimes = self.runtimes.clone();
        #[allow(unused_variables, reason = "a build without features has no runtime of its own")]
        let is_wanted = |kind| !self.without.contains(&kind) && self.runtimes.iter().all(|own| own.kind() != kind);
        #[cfg(feature = "process")]
        {
            use crate::runtimes::{ProcessRuntime, process_options};
            jackfield_process::reap_leftovers(&home.run());
            if is_wanted(RuntimeKind::Process) {
                runtimes.push(Arc::new(ProcessRuntime::new(process_options(home, &self.children)?)));
            }
        }
        #[cfg(feature = "js")]
        if is_wanted(RuntimeKind::Js) {
            use crate::runtimes::{JsRuntime, js_options};
            runtimes.push(Arc::new(JsRuntime::new(js_options(home, &self.children))));
        }
        #[cfg(feature = "wasm")]
        if is_wanted(RuntimeKind::Wasm) {
            use crate::runtimes::{WasmRuntime, wasm_options};
            runtimes.push(Arc::new(WasmRuntime::new(wasm_options(home, &self.children))));
        }
        #[cfg(feature = "mcp")]
        if is_wanted(RuntimeKind::Mcp) {
            use crate::runtimes::{McpRuntime, mcp_options};
            let options = mcp_options(home, project, env.clone(), &self.children);
            runtimes.push(Arc::new(McpRuntime::new(options)));
        }
        #[cfg(not(feature = "mcp"))]
        let _ = (home, project, env);
        Ok(runtimes)
    }
}

/// An async function that answers permission questions.
struct Asking<F>(F);

impl<F, R> Approver for Asking<F>
where
    F: Fn(Question) -> R + Send + Sync,
    R: Future<Output = Answer> + Send + 'static,
{
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin((self.0)(question))
    }
}
