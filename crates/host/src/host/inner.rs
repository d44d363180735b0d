//! The host's inside: what handles and gates share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use jackfield_discovery::catalog::{Catalog, Memory};
use jackfield_discovery::grants::Grants;
use jackfield_discovery::lock::Judge;
use jackfield_discovery::trust::{Trust, TrustState};
use jackfield_discovery::{Diagnostic, DiscoveryInput, Found, Origin, Report, Standing, child_env, discover_with};
use jackfield_files::Home;
use jackfield_ledger::{Ledger, RunIds};
use jackfield_policy::Grant;
use jackfield_protocol::{CallError, CallId, Correlation, ErrorCode, ExtensionId, Launch, Level, OnFailure, SessionId};
use jackfield_runtime::{Confinement, Limits, Runtime, StartError, StartSpec, Started};
use jackfield_services::{ServiceLimits, Services, SessionInfo};
use serde_json::Value;
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::CancellationToken;

use super::options::prepare_home;
use super::state::{Authority, Extensions, Faces, Records};
use super::{HostOptions, OpenError, serving};
use crate::config::Config;
use crate::face::Peer;
use crate::gate::Gate;
use crate::log_sink::LogSink;
use crate::pins::Pins;
use crate::recording::no_evidence;
use crate::registry::LiveRegistry;
use crate::secrets::SecretSource;
use crate::supervisor::Supervised;
use crate::ui_messages::Flood;

/// How long a handshake may take when the manifest does not say.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How many extensions start at the same time.
pub(super) const START_TOGETHER: usize = 16;

/// A tool call under way.
pub(crate) struct ActiveCall {
    pub(crate) extension: ExtensionId,
    pub(crate) tool: String,
    pub(crate) parent: Option<CallId>,
    /// The connection of its caller, where a face can ask and tell it something meanwhile.
    pub(crate) peer: Option<Arc<dyn Peer>>,
}

/// The host's inside, shared by handles and gates: where it works, and its four parts.
pub(crate) struct Inner {
    pub(crate) home: Home,
    /// The home, links resolved.
    pub(crate) real_home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) env: Arc<BTreeMap<String, String>>,
    /// Cancelled when the host ends.
    pub(crate) cancel: CancellationToken,
    pub(crate) extensions: Extensions,
    pub(crate) authority: Authority,
    pub(crate) evidence: Records,
    pub(crate) faces: Faces,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.cancel.cancel();
        for extension in self.extensions.all.load().values() {
            extension.abandon();
        }
    }
}

impl Inner {
    /// Puts everything together, finds the extensions and remembers what they contribute. Starts nothing.
    pub(super) fn build(options: HostOptions) -> Result<Arc<Self>, OpenError> {
        let HostOptions { home, project, ext, mode, env, runtimes, approver, interactive, .. } = options;
        let HostOptions { only_ext, keeper, face, agent, session_file, .. } = options;
        prepare_home(&home)?;
        let Config { mut policy, restarts, scripts, python, warnings } = Config::read(&home)?;
        policy.mode = mode.unwrap_or(policy.mode);
        let env = Arc::new(env);
        let kept = SecretSource::new(&home, &project, Arc::clone(&env));
        let secrets = kept.known().clone();
        let run_id = run_id();
        let session_id = format!("session-{run_id}");
        let ids = RunIds { run_id: run_id.clone(), session_id: session_id.clone() };
        let ledger = Ledger::open(&home.ledger(), ids, secrets.clone())?;
        let grants = Grants::open_or_none(&home);
        let session = SessionInfo {
            id: SessionId::new(session_id.clone()),
            cwd: project.clone(),
            provider: String::new(),
            model: String::new(),
        };
        let real_home = home.root().canonicalize().unwrap_or_else(|_| home.root().to_owned());
        let mut services = Services::new(project.clone(), Arc::clone(&env), ServiceLimits::default(), session)
            .with_home(real_home.clone())
            .with_secrets(Arc::new(kept.clone()));
        if let Some(file) = session_file {
            let unusable = |why| OpenError::Config(format!("cannot use {} as a session: {why}", file.display()));
            services.session().continue_in(&file).map_err(unusable)?;
        }
        if let Some(keeper) = keeper {
            services = services.with_keeper(keeper);
        }
        let inner = Arc::new(Inner {
            extensions: Extensions {
                named: ext,
                only_named: only_ext,
                runtimes,
                catalog: Catalog::of(&home),
                pins: Pins::of(&home),
                report: ArcSwap::default(),
                warnings,
                all: ArcSwap::default(),
                registry: LiveRegistry::default(),
                rebuilding: Mutex::default(),
                reloading: tokio::sync::Mutex::default(),
                describing: tokio::sync::Mutex::default(),
                after_learn: Mutex::default(),
                restarts,
                scripts,
                python,
                starting: Semaphore::new(START_TOGETHER),
                starts: AtomicU64::new(1),
                own_folders: Mutex::default(),
                with_folders: Mutex::default(),
                follows_project: AtomicBool::new(false),
            },
            evidence: Records {
                ledger,
                log: LogSink::new(&home, &session_id, &run_id, secrets.clone()),
                run_id,
                session_id,
                next_call: AtomicU64::new(1),
                active: Mutex::default(),
                sequence: Mutex::default(),
                begun: AtomicBool::new(false),
            },
            authority: Authority {
                policy,
                grants,
                run_grants: Mutex::default(),
                refused: Mutex::default(),
                approver,
                asking: Arc::default(),
                secrets,
                secret_source: kept,
                services,
            },
            faces: Faces {
                face,
                agent,
                interactive,
                events: broadcast::Sender::new(1024),
                log_lines: broadcast::Sender::new(256),
                published: Mutex::new(0),
                flood: Flood::default(),
            },
            home,
            real_home,
            project,
            env,
            cancel: CancellationToken::new(),
        });
        let report = inner.discover();
        let extensions = serving(&report).into_iter().map(|(id, found)| (id, inner.supervised(found))).collect();
        inner.extensions.all.store(Arc::new(extensions));
        inner.extensions.report.store(Arc::new(report));
        inner.rebuild();
        Ok(inner)
    }

    pub(super) fn input(&self) -> DiscoveryInput {
        DiscoveryInput {
            home: self.home.clone(),
            project: self.project.clone(),
            ext: self.extensions.named.clone(),
            path_env: self.env.get("PATH").map(Into::into),
            env: (*self.env).clone(),
            secrets: self.authority.secret_source.names(),
        }
    }

    pub(crate) fn discover(&self) -> Report {
        let input = self.input();
        let mut report = if self.extensions.only_named {
            jackfield_discovery::discover_named(&input)
        } else {
            discover_with(&input, &self.extensions.catalog)
        };
        report.diagnostics.extend(self.extensions.warnings.iter().cloned());
        report.diagnostics.extend(self.authority.secret_source.problems());
        report.diagnostics.extend(self.soul().1);
        if let Some(problem) = self.authority.grants.problem() {
            report.diagnostics.push(Diagnostic::error(&self.home.grants(), problem.to_string()));
        }
        report
    }

    /// A supervisor for an extension, with what the catalogue remembers of it. One that may not run contributes nothing;
    /// what it contributed earlier only serves to say why a tool is not there.
    pub(crate) fn supervised(self: &Arc<Self>, found: Found) -> Arc<Supervised> {
        let memory = match found.standing {
            Standing::Active => self.extensions.catalog.load(&found),
            // A guard that cannot run counts as one at every tool call, whatever an earlier version hooked.
            Standing::MissingRequirements { .. } | Standing::Unsupported { .. } | Standing::Changed { .. }
                if found.manifest.on_failure == Some(OnFailure::Deny) =>
            {
                Memory::default()
            }
            _ => {
                let memory = self.extensions.catalog.load(&found);
                Memory { previous: memory.known.or(memory.previous), ..Memory::default() }
            }
        };
        Supervised::new(found, memory, self.extensions.restarts, Arc::downgrade(self))
    }

    pub(crate) fn extension(&self, id: &ExtensionId) -> Option<Arc<Supervised>> {
        self.extensions.all.load().get(id).cloned()
    }

    pub(crate) fn contributions_changed(&self, extension: &Supervised) {
        if let Some(known) = extension.known().filter(|_| extension.origin() != Origin::Attached) {
            self.extensions.catalog.save(&extension.found(), &known);
        }
        self.rebuild();
    }

    /// Starts an instance of `found` in the runtime that fits; gives the number of the start too.
    pub(crate) async fn start(self: &Arc<Self>, found: &Found) -> Result<(Started, u64), StartError> {
        let judge = Judge::of(&self.home, &self.extensions.catalog);
        let (runtime, spec) = self.start_spec(found, &judge)?;
        let start = self.extensions.starts.fetch_add(1, Ordering::Relaxed);
        let gate = Gate::new(Arc::downgrade(self), found.manifest.id.clone(), start);
        // A thousand extensions do not start at once.
        let _slot = self.extensions.starting.acquire().await;
        let started = runtime.start(spec, Arc::new(gate)).await?;
        // Mostly there is nothing to object to, and nothing to look up again.
        let asked = &started.contributions.capabilities;
        let judged = judge
            .recorded(found)
            .and_then(|_| Judge::of(&self.home, &self.extensions.catalog).objection_to_requests(found, asked));
        match judged {
            Some(objection) => Err(StartError::NotRunnable(objection)),
            None => Ok((started, start)),
        }
    }

    /// Everything that starting `found` needs, made and checked now.
    pub(super) fn start_spec(
        &self,
        found: &Found,
        judge: &Judge,
    ) -> Result<(&Arc<dyn Runtime>, StartSpec), StartError> {
        let manifest = &found.manifest;
        if let Launch::Unsupported { reason } = &manifest.launch {
            return Err(StartError::Unsupported(reason.clone()));
        }
        let runtime = self.runtime_of(manifest).ok_or_else(|| {
            StartError::Unsupported(format!("no runtime of this host runs {} extensions", manifest.runtime.as_str()))
        })?;
        // Discovery judged the files as they were then; what starts is judged as it is now.
        if found.origin == Origin::Project {
            let state = Trust::load_with(&self.home, &self.extensions.catalog).state(&self.project);
            if state != TrustState::Trusted {
                return Err(StartError::NotRunnable(state.advice(&self.project)));
            }
        }
        if let Some(objection) = judge.objection(found) {
            return Err(StartError::NotRunnable(objection));
        }
        let traits = runtime.traits(manifest);
        if traits.confinement == Confinement::Ambient {
            self.make_folders(&manifest.id).map_err(|error| StartError::NotRunnable(error.message))?;
        }
        let data_dir = self.home.data(&manifest.id);
        self.lives_in(found);
        let mut env = child_env(manifest, &self.env, &found.dir, &data_dir);
        self.authority
            .secret_source
            .give(manifest, &mut env)
            .map_err(|error| StartError::NotRunnable(error.to_string()))?;
        let mut started = Arc::clone(manifest);
        let mut max_memory_mb = self.authority.policy.max_memory_mb;
        let mut cpu_ms = self.extensions.scripts.cpu_ms;
        if traits.limits == Limits::Components {
            max_memory_mb = max_memory_mb.into_iter().chain(self.extensions.scripts.component_memory_mb).min();
            cpu_ms = self.extensions.scripts.component_cpu_ms;
        }
        if traits.limits == Limits::Scripts {
            let isolation = self.extensions.scripts.isolation_of(manifest);
            if isolation != manifest.isolation {
                Arc::make_mut(&mut started).isolation = isolation;
            }
            max_memory_mb = max_memory_mb.into_iter().chain(self.extensions.scripts.memory_mb).min();
            env.push(("JACKFIELD_UI".to_owned(), u8::from(self.faces.face.is_there()).to_string()));
        }
        if matches!(manifest.launch, Launch::Js { .. } | Launch::Python { .. }) {
            let temporary = self.home.temporary(&manifest.id).to_string_lossy().into_owned();
            env.push(("JACKFIELD_TEMP_DIR".to_owned(), temporary));
        }
        let spec = StartSpec {
            max_memory_mb,
            cpu_slice: cpu_ms.map(Duration::from_millis),
            dir: found.dir.clone(),
            log_file: self.home.log_file(&manifest.id),
            env,
            data_dir,
            project: self.project.clone(),
            provider: String::new(),
            model: String::new(),
            start_timeout: manifest.limits.start_timeout_ms.map_or(START_TIMEOUT, Duration::from_millis),
            secrets: self.authority.secrets.clone(),
            manifest: started,
        };
        Ok((runtime, spec))
    }

    /// How long a Python file runs without being called.
    pub(crate) fn python_idle(&self) -> Duration {
        self.extensions.python.idle
    }

    pub(crate) fn next_call_id(&self) -> CallId {
        CallId::numbered(&self.evidence.run_id, self.evidence.next_call.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn active(&self) -> MutexGuard<'_, HashMap<CallId, ActiveCall>> {
        self.evidence.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn with_folders(&self) -> MutexGuard<'_, HashSet<ExtensionId>> {
        self.extensions.with_folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn refused(&self) -> MutexGuard<'_, HashSet<String>> {
        self.authority.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn run_grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.authority.run_grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn own_folders(&self) -> MutexGuard<'_, HashMap<ExtensionId, PathBuf>> {
        self.extensions.own_folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ledger_note(
        &self,
        event: &str,
        correlation: Correlation,
        message: &str,
        data: Value,
    ) -> Result<(), CallError> {
        let data = data.as_object().cloned().unwrap_or_default();
        self.evidence.ledger.note(event, Level::Info, message, correlation, data).map_err(no_evidence)
    }

    pub(crate) fn write_log(
        &self,
        extension: &ExtensionId,
        level: Level,
        message: &str,
        data: Value,
    ) -> Result<(), CallError> {
        let io = |error: std::io::Error| CallError::new(ErrorCode::Io, format!("cannot write the log: {error}"));
        self.evidence.log.write(extension, level, message, data).map_err(io)
    }
}

/// The id of a run: a UUIDv7, so ids sort by time and no two runs share one. Ids of calls are this and a number.
fn run_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
