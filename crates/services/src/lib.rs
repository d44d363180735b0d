//! What a permit buys: files, programs, HTTP, network, environment, session values and the built-in tools.
//!
//! Nothing here decides. Every service takes a [`Permit`] by reference and checks that it is for exactly its call. The
//! crate knows no extension, no registry and no ledger.
//!
//! Modules in reading order:
//! - `lib`: [`Services`], which resolves a call to what it will really touch and then serves it.
//! - `fs`, `exec`, `http`, `net`, `env`, `session`: one service each.
//! - `builtin`: the host's own tools (read, write, edit, grep, bash …).
//! - `errno`: the operating system's refusals in words.

mod builtin;
mod env;
mod errno;
mod exec;
mod fs;
mod http;
mod net;
mod session;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jackfield_policy::{Permit, Verdict};
use jackfield_protocol::{CallError, ErrorCode, ExecParams, HostCall, Need, SessionId, ToolSpec};
use jackfield_runtime::{BoxFuture, HostCallCx};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Asks for a further permit in the middle of a service, for instance when an HTTP answer redirects elsewhere. The gate
/// of the host implements it.
pub trait Authorize: Send + Sync {
    /// A permit, or why there is none.
    fn authorize(&self, need: Need) -> BoxFuture<'_, Result<Permit, CallError>>;

    /// The policy's verdict. Asks no person and makes no permit.
    fn judge(&self, need: &Need) -> Verdict;
}

/// Looks up a variable in the host's environment and in the secrets of the person. The host implements it.
pub trait Variables: std::fmt::Debug + Send + Sync {
    /// The value; nothing where the variable is not set.
    ///
    /// # Errors
    /// When a store of secrets cannot be read.
    fn value(&self, name: &str) -> Result<Option<String>, CallError>;
}

/// What no host call may exceed.
#[derive(Debug, Clone)]
pub struct ServiceLimits {
    /// Bytes kept of each output stream of a program; what follows is drained and dropped.
    pub max_output: usize,
    /// What a call may ask for instead.
    pub most_output: usize,
    /// Bytes of an HTTP answer's body.
    pub max_body: usize,
    /// Bytes of a file that is read or written.
    pub max_file: usize,
    /// How long a call may take that names no time itself.
    pub default_timeout: Duration,
    /// How long a call may take whatever it says.
    pub max_timeout: Duration,
    /// How long connecting to an HTTP host may take.
    pub connect_timeout: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            max_output: 1024 * 1024,
            most_output: 64 * 1024 * 1024,
            max_body: 8 * 1024 * 1024,
            max_file: 8 * 1024 * 1024,
            default_timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(600),
            connect_timeout: Duration::from_secs(10),
        }
    }
}

impl ServiceLimits {
    /// Bytes kept of each output stream for a call that asks for `wish`.
    fn output(&self, wish: Option<u64>) -> usize {
        wish.map_or(self.max_output, |wish| usize::try_from(wish).unwrap_or(usize::MAX).min(self.most_output))
    }
}

/// What an extension may know about the session it works in.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Names the conversation.
    pub id: SessionId,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The provider of the agent's model, empty without an agent.
    pub provider: String,
    /// The agent's model, empty without an agent.
    pub model: String,
}

/// Serves host calls. Cheap to share: everything in it is immutable or locked for moments only.
#[derive(Debug)]
pub struct Services {
    root: fs::Root,
    env: Arc<BTreeMap<String, String>>,
    limits: ServiceLimits,
    session: session::Session,
    http: http::Client,
    keeper: Option<PathBuf>,
    /// The host's own folder, links resolved.
    home: PathBuf,
    secrets: Option<Arc<dyn Variables>>,
}

impl Services {
    /// Services for one project. `env` is the host's environment, from which programs get a minimal part.
    pub fn new(
        project: PathBuf,
        env: Arc<BTreeMap<String, String>>,
        limits: ServiceLimits,
        session: SessionInfo,
    ) -> Self {
        let http = http::Client::new(limits.connect_timeout);
        let home = PathBuf::new();
        let (root, session) = (fs::Root::new(project), session::Session::new(session));
        Self { root, env, limits, session, http, keeper: None, home, secrets: None }
    }

    /// Says where the host keeps its own files, so that they stay there.
    pub fn with_home(mut self, home: PathBuf) -> Self {
        self.home = home;
        self
    }

    /// Looks up variables here instead of in the environment alone.
    pub fn with_secrets(mut self, secrets: Arc<dyn Variables>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// What the session holds.
    pub fn session(&self) -> &session::Session {
        &self.session
    }

    /// The file that a resolved path names.
    pub fn absolute(&self, resolved: &str) -> PathBuf {
        self.root.absolute(resolved)
    }

    /// The content of a file of the project for the host's own tools, which take nothing but that: no absolute path, no `..`,
    /// nothing behind a link, nothing of the host's own. What is judged is what is opened, whatever others do meanwhile.
    pub fn read_inside(&self, path: &str, most: usize) -> Result<Vec<u8>, CallError> {
        let refuse = |why: &str| Err(CallError::new(ErrorCode::Denied, format!("{path:?} is not sent: {why}")));
        let plain = path.strip_prefix("./").unwrap_or(path);
        if plain.is_empty() || plain.contains('\0') {
            return refuse("it is no path");
        }
        let is_below =
            std::path::Path::new(plain).components().all(|step| matches!(step, std::path::Component::Normal(_)));
        if !is_below || plain.starts_with('~') || plain.contains("://") {
            return refuse("only files of the project are, named from its directory and without `..`");
        }
        if !self.home.as_os_str().is_empty() && self.root.absolute(plain).starts_with(&self.home) {
            return refuse("it belongs to jackfield");
        }
        self.root.read(fs::checked(plain)?, most)
    }

    /// Runs programs under `keeper`, called as `KEEPER __keep PARENT_PID -- program args…`, which ends them when this process
    /// is gone, even by SIGKILL. Without one a program outlives a host that is killed.
    pub fn with_keeper(mut self, keeper: PathBuf) -> Self {
        self.keeper = Some(keeper);
        self
    }

    fn ground(&self) -> exec::Ground<'_> {
        exec::Ground { root: &self.root, env: &self.env, limits: &self.limits, keeper: self.keeper.as_deref() }
    }

    /// Whether the host itself has a tool of this name.
    pub fn is_builtin_tool(name: &str) -> bool {
        builtin::NAMES.contains(&name) || Self::is_secret_tool(name)
    }

    /// Whether it is one of those that the gate serves itself.
    pub fn is_secret_tool(name: &str) -> bool {
        builtin::SECRETS.contains(&name)
    }

    /// The host's own tools.
    pub fn builtin_tools() -> Vec<ToolSpec> {
        builtin::specs()
    }

    /// Puts what a call will really touch in place of what it says, so that policy judges the real thing: paths are
    /// resolved (links followed, `..` removed) and made relative to the project, or absolute where they lead out of it.
    ///
    /// # Errors
    /// `invalid_request` or `io` for a path that is malformed; `denied` for a built-in tool's that leads out of the project.
    pub fn resolve(&self, mut call: HostCall) -> Result<HostCall, CallError> {
        match &mut call {
            HostCall::Fs(op) => fs::resolve(&self.root, op)?,
            HostCall::Tool(tool) if builtin::takes_path(&tool.name) => match tool.input.get_mut("path") {
                Some(Value::String(path)) => *path = self.root.resolve_inside(path, fs::Last::Follow)?,
                // `needs` reads a missing path as the project itself, and so does the tool.
                None => {}
                Some(_) => return Err(builtin::bad_path(&tool.name)),
            },
            HostCall::Exec(exec) => exec::resolve(&self.root, exec)?,
            HostCall::Net(op) => net::resolve(&self.root, op)?,
            HostCall::Tool(_)
            | HostCall::Http(_)
            | HostCall::Env(_)
            | HostCall::Session(_)
            | HostCall::Ui(_)
            | HostCall::Agent(_)
            | HostCall::Mcp(_)
            | HostCall::Events(_)
            | HostCall::Log(_) => {}
        }
        Ok(call)
    }

    /// Serves a resolved call. Every wait ends with the call's time, the host's own limit or `cx.cancel`; whatever was
    /// started for the call ends with it, also when the returned future is dropped.
    ///
    /// # Errors
    /// `internal` when the permit is for something else; otherwise what went wrong with the call.
    pub async fn perform(
        &self,
        call: &HostCall,
        permit: &Permit,
        authorize: &dyn Authorize,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        let need = call.needs();
        if *permit.need() != need {
            return Err(CallError::new(
                ErrorCode::Internal,
                format!("the permit is for \"{}\" but the call needs \"{need}\"; nothing was done", permit.need()),
            ));
        }
        if cx.cancel.is_cancelled() {
            return Err(self.until(cx, None).error(&need.to_string(), Cut::Cancelled));
        }
        match call {
            HostCall::Fs(op) => {
                let kept = [self.root.path(), &self.home];
                fs::serve(&self.root, op, self.limits.max_file, &kept, authorize, cx, &self.until(cx, None)).await
            }
            HostCall::Exec(params) => exec::perform(self.ground(), params, authorize, self.until(cx, None), cx).await,
            HostCall::Http(params) => {
                let until = self.until(cx, params.timeout_ms.map(Duration::from_millis));
                let what = format!("http to {}", params.host());
                let (max, chunks) = (self.limits.max_body, cx.chunks.as_ref());
                until.run(&what, self.http.perform(params, max, authorize, chunks)).await?
            }
            HostCall::Env(params) => env::perform(&self.env, self.secrets.as_deref(), params),
            HostCall::Session(op) => self.session.perform(permit.extension(), op),
            HostCall::Tool(tool) if Self::is_builtin_tool(&tool.name) => {
                builtin::perform(self, tool, authorize, cx).await
            }
            HostCall::Net(op) => {
                let (until, limit) = (self.until(cx, None), self.limits.connect_timeout);
                net::perform(&self.root, op, limit, authorize, cx, &until).await
            }
            HostCall::Tool(_)
            | HostCall::Ui(_)
            | HostCall::Agent(_)
            | HostCall::Mcp(_)
            | HostCall::Events(_)
            | HostCall::Log(_) => Err(CallError::new(
                ErrorCode::Internal,
                format!("the gate handles {need}, not the services; this is a fault of the host"),
            )),
        }
    }

    /// Runs a program for the owner of the host, not for an extension: with the environment it is given and no more.
    pub async fn run_program(
        &self,
        mut params: ExecParams,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Ran, CallError> {
        exec::resolve(&self.root, &mut params)?;
        let until = Until { limit, at: Instant::now() + limit, cancel: Arc::new(cancel.clone()) };
        let ran = exec::run(self.ground(), &params, &until, exec::Wires::default()).await?;
        match ran.end {
            exec::End::Cut(cut) => Err(until.error(&format!("program {:?}", params.command), cut)),
            exec::End::Exited(_) => Ok(Ran {
                code: ran.code(false),
                truncated: ran.stdout.truncated,
                stdout: ran.stdout.text(),
                stderr: ran.stderr.text(),
            }),
        }
    }

    /// The conditions of one call. `wish` is a time that stands in the call's own arguments.
    fn until(&self, cx: &HostCallCx, wish: Option<Duration>) -> Until {
        let limit = match (cx.timeout, wish) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            // What the extension feeds and reads lasts until it lets go or goes itself.
            (None, None) if is_lasting(cx) => NO_TIMEOUT,
            (None, None) => self.limits.default_timeout,
        };
        if limit == NO_TIMEOUT {
            return Until { limit, at: Instant::now() + limit, cancel: Arc::clone(&cx.cancel) };
        }
        let limit = limit.min(self.limits.max_timeout);
        Until { limit, at: Instant::now() + limit, cancel: Arc::clone(&cx.cancel) }
    }
}

/// The beginning of a regular file of `project`, at most `most` bytes, and the size of the whole; nothing where there is none.
/// A link counts as what it leads to, if that is in the project.
pub fn project_file(project: &std::path::Path, name: &str, most: usize) -> Result<Option<(Vec<u8>, u64)>, CallError> {
    let root = fs::Root::new(project.to_owned());
    let path = root.resolve_inside(name, fs::Last::Follow)?;
    match root.read_range(fs::checked(&path)?, 0, Some(most as u64), most) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a program of the host's owner said.
#[derive(Debug)]
pub struct Ran {
    /// As shells count.
    pub code: Option<i32>,
    /// It said more than is kept.
    pub truncated: bool,
    /// The beginning of its output.
    pub stdout: String,
    /// The beginning of what it complained about.
    pub stderr: String,
}

/// Stands for no limit: longer than any process runs.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Whether a call is a conversation: the extension takes pieces of it and sends into it, and named no time.
pub fn is_lasting(cx: &HostCallCx) -> bool {
    cx.chunks.is_some() && cx.input.is_some() && cx.timeout.is_none()
}

/// When a call has to be over.
#[derive(Debug, Clone)]
struct Until {
    limit: Duration,
    at: Instant,
    cancel: Arc<CancellationToken>,
}

/// Why a call ended before its work did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Timeout,
    Cancelled,
}

impl Until {
    /// Resolves when the call has to end.
    async fn over(&self) -> Cut {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Cut::Cancelled,
            () = tokio::time::sleep_until(self.at) => Cut::Timeout,
        }
    }

    /// The work's result, or that it took too long or was not wanted any more.
    async fn run<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T, CallError> {
        tokio::select! {
            biased;
            cut = self.over() => Err(self.error(what, cut)),
            done = work => Ok(done),
        }
    }

    fn error(&self, what: &str, cut: Cut) -> CallError {
        match cut {
            Cut::Timeout => CallError::new(
                ErrorCode::Timeout,
                format!("{what} was not done within {} ms; allow it more time or ask for less", self.limit.as_millis()),
            ),
            Cut::Cancelled => CallError::new(ErrorCode::Cancelled, format!("{what} was cancelled by its caller")),
        }
    }
}

/// Tells work on another thread that nobody waits for it any more.
#[derive(Debug, Clone, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// `cancelled` once nobody waits: such work must have no further effect.
    fn check(&self) -> Result<(), CallError> {
        if self.is_set() {
            return Err(CallError::new(
                ErrorCode::Cancelled,
                "nobody waits for this call any more; it was left undone",
            ));
        }
        Ok(())
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// A further permit in the middle of a service.
async fn demand(authorize: &dyn Authorize, need: Need) -> Result<(), CallError> {
    let permit = authorize.authorize(need.clone()).await?;
    if *permit.need() != need {
        return Err(CallError::new(
            ErrorCode::Internal,
            format!("the permit is for \"{}\" but the call needs \"{need}\"; nothing was done", permit.need()),
        ));
    }
    Ok(())
}

/// Runs blocking work on a thread that may block, within the call's time.
async fn blocking<T: Send + 'static>(
    until: &Until,
    what: &str,
    work: impl FnOnce(&Stop) -> Result<T, CallError> + Send + 'static,
) -> Result<T, CallError> {
    let stop = Stop::default();
    let _stop_when_left = StopOnDrop(stop.clone());
    match until.run(what, tokio::task::spawn_blocking(move || work(&stop))).await? {
        Ok(result) => result,
        Err(error) => Err(CallError::new(ErrorCode::Internal, format!("{what} failed inside the host: {error}"))),
    }
}
