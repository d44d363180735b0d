//! What all tests of services share, and the tests that concern no service in particular.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jackfield_policy::{Mode, Permit, Policy, Request, Subject, Verdict};
use jackfield_protocol::{CallError, ErrorCode, HostCall, Need, Power, Resource, SessionId};
use jackfield_runtime::{BoxFuture, HostCallCx};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ServiceLimits, Services, SessionInfo};
use crate::Authorize;

/// A project beside a folder that is none of its business.
pub(super) struct Place {
    dir: TempDir,
    pub(super) services: Services,
}

impl Place {
    pub(super) fn new() -> Self {
        Self::with(ServiceLimits::default(), &[])
    }

    pub(super) fn with(limits: ServiceLimits, env: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("project")).unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/secret"), "treasure").unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut all: BTreeMap<String, String> = BTreeMap::from([("PATH".to_owned(), path)]);
        all.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let session = SessionInfo {
            id: SessionId::new("s1"),
            cwd: dir.path().join("project"),
            provider: "p".to_owned(),
            model: "m".to_owned(),
        };
        let services = Services::new(dir.path().join("project"), Arc::new(all), limits, session);
        Self { dir, services }
    }

    pub(super) fn with_keeper(self, keeper: PathBuf) -> Self {
        Self { services: self.services.with_keeper(keeper), ..self }
    }

    /// A path in the project.
    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.dir.path().join("project").join(path)
    }

    /// A path beside the project.
    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().join("outside").join(path)
    }

    /// A host call from the wire to its answer, as the gate does it, with a yes to everything.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.call_within(method, params, &HostCallCx::default()).await
    }

    pub(super) async fn call_within(&self, method: &str, params: Value, cx: &HostCallCx) -> Result<Value, CallError> {
        let call = self.services.resolve(HostCall::parse(method, params)?)?;
        self.perform(&call, &Judge::default(), cx).await
    }

    /// A call that was resolved already.
    pub(super) async fn perform(&self, call: &HostCall, judge: &Judge, cx: &HostCallCx) -> Result<Value, CallError> {
        let permit = permit_for("tester", call.needs());
        self.services.perform(call, &permit, judge, cx).await
    }
}

/// Says yes or no to every further need, and remembers what was asked.
#[derive(Default)]
pub(super) struct Judge {
    pub(super) refuses: bool,
    /// Needs with this in their text are denied by a rule.
    pub(super) denies: Option<&'static str>,
    pub(super) asked: Mutex<Vec<String>>,
}

impl Authorize for Judge {
    fn authorize(&self, need: Need) -> BoxFuture<'_, Result<Permit, CallError>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(need.to_string());
            if self.refuses || self.denies.is_some_and(|part| need.to_string().contains(part)) {
                return Err(CallError::new(ErrorCode::Denied, format!("{need} is not granted")));
            }
            Ok(permit_for("tester", need))
        })
    }

    fn judge(&self, need: &Need) -> Verdict {
        match (self.denies, self.refuses) {
            (Some(part), _) if need.to_string().contains(part) => Verdict::Deny,
            (_, true) => Verdict::Ask,
            _ => Verdict::Allow,
        }
    }
}

pub(super) fn within(timeout: Duration) -> HostCallCx {
    HostCallCx { timeout: Some(timeout), ..HostCallCx::default() }
}

/// Waits until `done`, and fails when that takes too long.
#[track_caller]
pub(super) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
pub(super) fn fails(result: Result<Value, CallError>, code: ErrorCode, holds: &str) -> CallError {
    let error = result.expect_err("an error");
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.contains(holds), "{error} should hold {holds:?}");
    error
}

/// The operating system said so.
#[track_caller]
pub(super) fn is_errno(result: Result<Value, CallError>, errno: &str) -> CallError {
    let error = result.expect_err("an error");
    assert_eq!((error.code, error.details.clone()), (ErrorCode::Io, Some(json!({ "errno": errno }))), "{error}");
    error
}

#[tokio::test]
async fn a_permit_for_one_thing_serves_no_other() {
    let place = Place::new();
    std::fs::write(place.inside("a"), "x").unwrap();
    let call = HostCall::parse("fs", json!({"op": "read", "path": "a"})).unwrap();
    let elsewhere = [
        Need { power: Power::Read, method: "fs", resource: Resource::Path("b".into()) },
        Need { power: Power::Write, method: "fs", resource: Resource::Path("a".into()) },
        Need { power: Power::Read, method: "tool", resource: Resource::Path("a".into()) },
        Need { power: Power::Exec, method: "exec", resource: Resource::Program("a".into()) },
    ];
    for need in elsewhere {
        let permit = permit_for("tester", need);
        let result = place.services.perform(&call, &permit, &Judge::default(), &HostCallCx::default()).await;
        fails(result, ErrorCode::Internal, "permit");
    }
    let permit = permit_for("tester", call.needs());
    let result = place.services.perform(&call, &permit, &Judge::default(), &HostCallCx::default()).await;
    assert_eq!(result.unwrap()["content"], "x");
}

#[tokio::test]
async fn the_gates_calls_are_not_served() {
    let place = Place::new();
    for (method, params) in [
        ("tool", json!({"name": "weather", "input": {}})),
        ("ui", json!({"op": "notify", "message": "x"})),
        ("events", json!({"op": "emit", "event": "x"})),
        ("log", json!({"level": "info", "message": "x"})),
    ] {
        fails(place.call(method, params).await, ErrorCode::Internal, "gate");
    }
}

#[tokio::test]
async fn a_call_cancelled_before_it_begins_does_nothing() {
    let place = Place::new();
    let cx = HostCallCx::default();
    cx.cancel.cancel();
    let write = json!({"op": "write", "path": "a", "content": "x"});
    fails(place.call_within("fs", write, &cx).await, ErrorCode::Cancelled, "cancelled");
    let exec = json!({"command": "touch", "args": ["b"]});
    fails(place.call_within("exec", exec, &cx).await, ErrorCode::Cancelled, "cancelled");
    assert!(!place.inside("a").exists() && !place.inside("b").exists());
}

#[tokio::test]
async fn variables() {
    let place = Place::with(ServiceLimits::default(), &[("CITY", "Berlin")]);
    assert_eq!(place.call("env", json!({"name": "CITY"})).await.unwrap(), json!({"value": "Berlin"}));
    assert_eq!(place.call("env", json!({"name": "NONE"})).await.unwrap(), json!({"value": null}));
}

#[tokio::test]
async fn session_values_belong_to_their_extension() {
    let place = Place::new();
    let info = place.call("session", json!({"op": "info"})).await.unwrap();
    assert_eq!((&info["id"], &info["provider"], &info["model"]), (&json!("s1"), &json!("p"), &json!("m")));
    assert_eq!(info["cwd"], json!(place.inside("").to_str().unwrap().trim_end_matches('/')));

    let get = json!({"op": "get", "key": "k"});
    assert_eq!(place.call("session", get.clone()).await.unwrap(), json!({"value": null}));
    place.call("session", json!({"op": "set", "key": "k", "value": {"a": 1}})).await.unwrap();
    assert_eq!(place.call("session", get.clone()).await.unwrap(), json!({"value": {"a": 1}}));

    let call = HostCall::parse("session", get.clone()).unwrap();
    let stranger = permit_for("stranger", call.needs());
    let seen = place.services.perform(&call, &stranger, &Judge::default(), &HostCallCx::default()).await;
    assert_eq!(seen.unwrap(), json!({"value": null}));

    place.call("session", json!({"op": "set", "key": "k", "value": null})).await.unwrap();
    assert_eq!(place.call("session", get).await.unwrap(), json!({"value": null}));
}

#[tokio::test]
async fn session_values_are_bounded() {
    let place = Place::new();
    let set = |key: String, value: Value| json!({"op": "set", "key": key, "value": value});
    let big = json!("x".repeat(64 * 1024));
    fails(place.call("session", set("k".into(), big)).await, ErrorCode::InvalidRequest, "65536");
    fails(place.call("session", set("k".repeat(257), json!(1))).await, ErrorCode::InvalidRequest, "key");
    fails(place.call("session", set(String::new(), json!(1))).await, ErrorCode::InvalidRequest, "key");
    for key in 0..256 {
        place.call("session", set(format!("k{key}"), json!("x".repeat(64 * 1024 - 2)))).await.unwrap();
    }
    fails(place.call("session", set("one more".into(), json!(1))).await, ErrorCode::InvalidRequest, "256");
    place.call("session", set("k0".into(), json!(2))).await.unwrap();
    place.call("session", set("k0".into(), json!(null))).await.unwrap();
    place.call("session", set("one more".into(), json!(1))).await.unwrap();
}

/// A permit as the gate gets it: from a policy that allows what it is not told to deny, and a person who says yes.
pub(super) fn permit_for(extension: &str, need: Need) -> Permit {
    let policy = Policy { mode: Mode::Permissive, ..Policy::default() };
    let (extension, subject) = (jackfield_protocol::ExtensionId::from(extension), Subject::Extension { declared: &[] });
    let request =
        Request { extension: &extension, subject, need: &need, grants: &[], place: jackfield_policy::Place::Open };
    let decision = policy.decide(&request);
    match decision.verdict() {
        Verdict::Allow => decision.permit(),
        Verdict::Ask => decision.approved(),
        Verdict::Deny => None,
    }
    .expect("the policy of the tests allows it")
}
