//! The gate: decides on every host call, and is the only door from an extension into the host.

mod nested;
mod places;
mod secret;
mod served;
mod words;

use std::sync::{Arc, Weak};
use std::time::Duration;

use jackfield_protocol::{
    CallError, CallId, Capability, ContributionChange, Correlation, ErrorCode, EventsOp, ExtensionId, HostCall,
    LogRecord, Need, Notice, Resource,
};
use jackfield_runtime::{BoxFuture, HostApi, HostCallCx};
use serde_json::{Value, json};
use tracing::Instrument as _;

use crate::approver::{Answer, Question};
use crate::call::{CallRight, ToolCall};
use crate::host::Inner;

use jackfield_ledger::{Begin, Evidence, Kind, params_hash};
use jackfield_policy::{Caller, Decision, Delivery, Permit, Place, Request, Subject, Verdict};
use jackfield_policy::{Effect, Grant, NewGrant};
use jackfield_services::{Services, is_lasting};
use nested::NestedAuthorizer;
pub use words::grant_words;
use words::{act_of, advice};

/// How long a person may take to answer whether an extension may do something.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(300);
/// How many noes the host remembers in one run.
const MAX_REFUSED: usize = 10_000;
/// The most a host call may take, whatever the extension asks for.
const HOST_CALL_LIMIT: Duration = Duration::from_secs(600);

/// The limit of a host call that has none: a conversation with the person, the agent, a program or another machine.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// The call for which the gate decides, and the call around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallContext<'a> {
    /// The call that needs the permit.
    pub(crate) call_id: &'a CallId,
    /// The tool call that it serves, where it is a host call.
    pub(crate) within: Option<&'a CallId>,
    /// The tool that runs meanwhile.
    pub(crate) tool: Option<&'a str>,
    /// The whole act, where the need does not say all of it.
    pub(crate) act: Option<&'a str>,
}

impl Inner {
    /// Decides, asks a person where policy says so, records the answer, and makes the permit.
    pub(crate) async fn authorize(
        &self,
        extension: &ExtensionId,
        subject: Subject<'_>,
        need: Need,
        context: CallContext<'_>,
        evidence: &mut Evidence,
    ) -> Result<Permit, CallError> {
        if matches!(&need.resource, Resource::Host(host) if host.contains('*')) {
            // No name has one, and as a grant it would cover others.
            return Err(CallError::new(ErrorCode::InvalidRequest, format!("{need}: no host has a name with `*`")));
        }
        let decision = self.decide(extension, subject, &need);
        let rule = decision.rule();
        evidence.decision = Some(rule);
        tracing::debug!(%extension, rule, verdict = ?decision.verdict(), "decided");
        let permit = match decision.verdict() {
            Verdict::Allow => decision.permit(),
            Verdict::Deny => {
                self.record_decision(extension, subject, context, &need, &decision, "denied by policy")?;
                None
            }
            Verdict::Ask => {
                let answer = self.ask_person(extension, subject, &need, context).await?;
                evidence.answer = Some(format!("{answer:?}"));
                let said = match answer {
                    answer if answer.is_yes() => "the answer was yes",
                    Answer::Unanswered => "the question was not answered",
                    _ => "the answer was no",
                };
                self.record_decision(extension, subject, context, &need, &decision, said)?;
                if !answer.is_yes() {
                    return Err(self.denied(extension, &need, "no person said yes"));
                }
                decision.approved()
            }
        };
        permit.ok_or_else(|| self.denied(extension, &need, rule))
    }

    /// The permit to hand an extension something that it registered for.
    pub(crate) fn permit_delivery(&self, extension: &ExtensionId, what: Delivery<'_>) -> Result<Permit, CallError> {
        let decision = self.authority.policy.decide_delivery(extension, what);
        let rule = decision.rule();
        decision.permit().ok_or_else(|| {
            let message = format!("{what} was not delivered to extension {extension}: {rule}");
            CallError::new(ErrorCode::Denied, message)
        })
    }

    /// The decision as data, without asking anybody.
    pub(crate) fn decide(&self, extension: &ExtensionId, subject: Subject<'_>, need: &Need) -> Decision {
        let stored = self.authority.grants.applying(extension, &self.project);
        let mine: Vec<Grant> =
            self.run_grants().iter().filter(|grant| &grant.extension == extension).cloned().collect();
        let all: Vec<Grant>;
        let grants: &[Grant] = if mine.is_empty() {
            &stored
        } else {
            all = stored.iter().cloned().chain(mine).collect();
            &all
        };
        let place = match subject {
            Subject::Extension { .. } => self.place(extension, need),
            Subject::Caller(_) => Place::Open,
        };
        let decision = self.authority.policy.decide(&Request { extension, subject, need, grants, place });
        // A tool has two names. A rule that denies one of them denies the tool.
        if let Some(other) = self.other_name(need) {
            let other = self.authority.policy.decide(&Request { extension, subject, need: &other, grants, place });
            if other.verdict() == Verdict::Deny && matches!(other.rule(), "deny_tools" | "deny_grant") {
                return other;
            }
        }
        decision
    }

    /// The same need under the qualified name of its tool, where that is another.
    fn other_name(&self, need: &Need) -> Option<Need> {
        let Resource::Tool(name) = &need.resource else { return None };
        let snapshot = self.snapshot();
        let entry = snapshot.tool(name)?;
        let resource = Resource::Tool(entry.qualified_name.clone());
        (entry.qualified_name != *name).then(|| Need { resource, ..need.clone() })
    }

    async fn ask_person(
        &self,
        extension: &ExtensionId,
        subject: Subject<'_>,
        need: &Need,
        context: CallContext<'_>,
    ) -> Result<Answer, CallError> {
        // The host asks the caller first, where its face can do that.
        let peer = self.peer_above(context.within.unwrap_or(context.call_id));
        let turn = peer.as_ref().and_then(|peer| peer.turn());
        let peer = peer.filter(|_| turn.is_some());
        // One question at a time. The host decides again after the wait: the answer before may have settled it.
        let _turn = turn.unwrap_or_else(|| Arc::clone(&self.authority.asking)).lock_owned().await;
        match self.decide(extension, subject, need).verdict() {
            Verdict::Allow => return Ok(Answer::ThisRun),
            Verdict::Deny => return Ok(Answer::No),
            Verdict::Ask => {}
        }
        let act = context.act.map(str::to_owned);
        let refusal = params_hash(extension.as_str(), &json!({ "need": need, "act": act }));
        if self.refused().contains(&refusal) {
            return Ok(Answer::No);
        }
        let reason = match subject {
            Subject::Extension { declared, .. } => {
                declared.iter().find(|capability| capability.covers(need)).and_then(|found| found.reason.clone())
            }
            Subject::Caller(_) => None,
        };
        let grant = Capability::exactly(need);
        let question = Question {
            extension: extension.clone(),
            need: need.clone(),
            act,
            on_behalf_of: context.tool.map(str::to_owned),
            reason,
            grant: grant.clone(),
        };
        let asking = async {
            let answer = match &peer {
                Some(peer) => peer.approve(question.clone()).await,
                None => None,
            };
            match answer {
                Some(answer) => (answer, false),
                None => (self.authority.approver.ask(question).await, true),
            }
        };
        let asked = tokio::time::timeout(APPROVAL_TIMEOUT, asking).await;
        let (answer, by_person) = asked.unwrap_or((Answer::Unanswered, false));
        let project = match answer {
            // One agent's no is not another's.
            Answer::No if !by_person => return Ok(answer),
            Answer::Once | Answer::Unanswered => return Ok(answer),
            Answer::No => {
                let mut refused = self.refused();
                if refused.len() < MAX_REFUSED {
                    refused.insert(refusal);
                }
                return Ok(answer);
            }
            Answer::ThisRun => {
                self.run_grants().push(Grant {
                    extension: extension.clone(),
                    capability: grant,
                    effect: Effect::Allow,
                    project: None,
                    granted_at: String::new(),
                    id: "this-run".to_owned(),
                });
                return Ok(answer);
            }
            Answer::AlwaysHere => Some(self.project.clone()),
            Answer::Always => None,
        };
        self.authority
            .grants
            .add(NewGrant { extension: extension.clone(), capability: grant, effect: Effect::Allow, project })
            .map_err(|error| CallError::new(ErrorCode::Io, error.to_string()))?;
        Ok(answer)
    }

    fn record_decision(
        &self,
        extension: &ExtensionId,
        subject: Subject<'_>,
        context: CallContext<'_>,
        need: &Need,
        decision: &Decision,
        message: &str,
    ) -> Result<(), CallError> {
        let data =
            json!({ "need": need, "verdict": decision.verdict(), "rule": decision.rule(), "chain": decision.chain() });
        let (call, within) = (Some(context.call_id.to_string()), context.within.map(ToString::to_string));
        let correlation = match subject {
            Subject::Caller(_) => Correlation { tool_call_id: call, trace_id: within, ..Correlation::default() },
            Subject::Extension { .. } => Correlation { host_call_id: call, trace_id: within, ..Correlation::default() },
        };
        let correlation = Correlation { extension_id: extension.to_string(), ..correlation };
        self.ledger_note("policy.decision", correlation, message, data)
    }

    fn denied(&self, extension: &ExtensionId, need: &Need, why: &str) -> CallError {
        let message = format!("{need} denied to extension {extension}: {why}; {}", advice(extension, need, why));
        CallError::new(ErrorCode::Denied, message).with_details(json!({ "capability": need.power, "need": need }))
    }
}

/// The door of one instance.
pub(crate) struct Gate {
    host: Weak<Inner>,
    extension: ExtensionId,
    start: u64,
}

impl Gate {
    /// The door of the instance that comes of the start of this number.
    pub(crate) fn new(host: Weak<Inner>, extension: ExtensionId, start: u64) -> Self {
        Self { host, extension, start }
    }

    fn host(&self) -> Result<Arc<Inner>, CallError> {
        self.host.upgrade().ok_or_else(|| CallError::new(ErrorCode::Unavailable, "the host is shutting down"))
    }

    async fn serve(&self, call: HostCall, cx: HostCallCx) -> Result<Value, CallError> {
        let host = self.host()?;
        let call_id = host.next_call_id();
        let params = call.params();
        let within = self.enclosing(&host, cx.within.as_ref(), &call);
        let parent = within.as_ref().ok().and_then(Option::as_ref).map(|(id, _)| id.as_str().to_owned());
        let span = tracing::debug_span!("host_call", %call_id, within = parent.as_deref(), method = call.method());
        let begin = || {
            host.begin_recording(Begin {
                capability: Some(call.needs().power),
                timeout_ms: cx.timeout.map(|timeout| timeout.as_millis() as u64),
                parent: parent.as_deref(),
                ..Begin::new(Kind::HostCall, call_id.as_str(), self.extension.as_str(), call.method(), &params)
            })
        };
        let mut recording = span.in_scope(begin)?;
        let outcome = match within {
            Err(error) => Err(error),
            Ok(within) => {
                let waits =
                    matches!(call, HostCall::Ui(_) | HostCall::Agent(_) | HostCall::Mcp(_)) && cx.timeout.is_none();
                // The person's time does not count: asking has its own limit inside. A conversation lasts as long as
                // the extension wants it to.
                let limit = match waits || is_lasting(&cx) {
                    true => NO_TIMEOUT,
                    false => cx.timeout.unwrap_or(HOST_CALL_LIMIT).min(HOST_CALL_LIMIT) + APPROVAL_TIMEOUT,
                };
                let work = self.judge_and_perform(&host, &call_id, call, within, &cx, &mut recording.evidence);
                match tokio::time::timeout(limit, work.instrument(span.clone())).await {
                    Ok(done) => done,
                    Err(_) => Err(CallError::new(ErrorCode::Timeout, "the host call took too long")),
                }
            }
        };
        span.in_scope(|| recording.end(outcome))
    }

    /// The call of the host that this one serves: the one the extension names if it is its own, else the only one that
    /// is under way.
    fn enclosing(
        &self,
        host: &Inner,
        named: Option<&CallId>,
        call: &HostCall,
    ) -> Result<Option<(CallId, String)>, CallError> {
        let active = host.active();
        if let Some(id) = named {
            return match active.get(id) {
                Some(call) if call.extension == self.extension => Ok(Some((id.clone(), call.tool.clone()))),
                _ => Err(CallError::new(ErrorCode::InvalidRequest, format!("call {id} is not under way here"))),
            };
        }
        let mut mine = active.iter().filter(|(_, call)| call.extension == self.extension);
        match (mine.next(), mine.next()) {
            (Some((id, call)), None) => Ok(Some((id.clone(), call.tool.clone()))),
            (Some(_), Some(_)) if matches!(call, HostCall::Tool(_)) => Err(CallError::new(
                ErrorCode::InvalidRequest,
                "several calls are under way: name the one that this tool call serves",
            )),
            _ => Ok(None),
        }
    }

    async fn judge_and_perform(
        &self,
        host: &Arc<Inner>,
        call_id: &CallId,
        call: HostCall,
        within: Option<(CallId, String)>,
        cx: &HostCallCx,
        evidence: &mut Evidence,
    ) -> Result<Value, CallError> {
        if matches!(call, HostCall::Fs(_) | HostCall::Exec(_) | HostCall::Net(_) | HostCall::Tool(_)) {
            host.make_folders(&self.extension)?;
        }
        let mut call = host.authority.services.resolve(call)?;
        if let HostCall::Tool(tool) = &mut call
            && !Services::is_builtin_tool(&tool.name)
        {
            // Judged under the name that it runs under, whichever it was called by.
            if let Some(entry) = host.snapshot().tool(&tool.name) {
                tool.name.clone_from(&entry.name);
            }
        }
        if self.wants_raw_results(host) {
            match &mut call {
                HostCall::Exec(params) => params.raw = true,
                HostCall::Http(params) => params.raw = true,
                _ => {}
            }
        }
        let need = call.needs();
        evidence.need = Some(need.to_string());
        if let Some(claimed) = &cx.claimed
            && claimed != need.power.as_str()
        {
            let message =
                format!("the claimed capability {claimed:?} is not {:?}, which this call needs", need.power.as_str());
            return Err(CallError::new(ErrorCode::InvalidRequest, message));
        }
        let on_behalf_of = within.as_ref().map(|(_, tool)| tool.as_str());
        let declared = self.declared(host);
        let subject = Subject::Extension { declared: &declared };
        let act = act_of(&call);
        let within_id = within.as_ref().map(|(id, _)| id);
        let context = CallContext { call_id, within: within_id, tool: on_behalf_of, act: act.as_deref() };
        let permit = host.authorize(&self.extension, subject, need, context, evidence).await?;
        let nested = NestedAuthorizer { gate: self, host, context, declared: &declared };
        match call {
            HostCall::Tool(tool) if !Services::is_builtin_tool(&tool.name) => {
                let call = ToolCall {
                    timeout: cx.timeout,
                    cancel: (*cx.cancel).clone(),
                    ..ToolCall::by(Caller::Agent, tool.name, tool.input)
                };
                let parent = within.as_ref().map(|(id, _)| id.clone());
                // Boxed: a tool call may lead back here.
                let outcome = Box::pin(host.call_tool(call, CallRight::Extension { permit, parent })).await;
                outcome.result.map(|result| serde_json::to_value(result).unwrap_or(Value::Null))
            }
            HostCall::Tool(tool) if Services::is_secret_tool(&tool.name) => {
                host.secret_tool(&self.extension, &tool, cx).await
            }
            HostCall::Ui(op) => host.ui(&self.extension, op, cx).await,
            HostCall::Agent(params) => host.agent(&self.extension, params, cx).await,
            HostCall::Mcp(params) => host.ask_caller(&self.extension, within.map(|(id, _)| id), params, cx).await,
            HostCall::Session(ref op) => match host.session_view(op) {
                Some(view) => Ok(view),
                None => {
                    let answer = host.authority.services.perform(&call, &permit, &nested, cx).await?;
                    host.session_changed(&self.extension, op, &answer);
                    Ok(answer)
                }
            },
            HostCall::Events(EventsOp::Emit { event, data }) => {
                host.emit_for(&self.extension, &event, &data)?;
                Ok(json!({}))
            }
            HostCall::Log(log) => {
                let data = json!({ "data": log.data });
                host.write_log(&self.extension, log.level, &log.message, data)?;
                Ok(json!({}))
            }
            call => host.authority.services.perform(&call, &permit, &nested, cx).await,
        }
    }

    /// Whether the extension gets what the system said, not what shells make of it.
    fn wants_raw_results(&self, host: &Inner) -> bool {
        host.extension(&self.extension).is_some_and(|extension| extension.traits().wants_raw_results)
    }

    /// What the extension said that it needs: in its manifest, or else when it registered.
    fn declared(&self, host: &Inner) -> Arc<Vec<Capability>> {
        host.extension(&self.extension).map(|extension| extension.declared()).unwrap_or_default()
    }
}

impl HostApi for Gate {
    fn call(&self, call: HostCall, cx: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(self.serve(call, cx))
    }

    fn contribute(&self, change: ContributionChange) {
        let ContributionChange::All(contributions) = change;
        if let Some(host) = self.host.upgrade()
            && let Some(extension) = host.extension(&self.extension)
        {
            extension.contribute(self.start, contributions);
        }
    }

    fn tell(&self, notice: Notice) {
        if let Some(host) = self.host.upgrade() {
            host.notice(&self.extension, notice);
        }
    }

    fn log(&self, record: LogRecord) {
        if let Some(host) = self.host.upgrade() {
            // The log is diagnostics, not evidence: a line that cannot be written must not stop the extension.
            host.logged(&self.extension, &record);
            host.write_log(&self.extension, record.level, &record.message, json!({ "data": record.data })).ok();
        }
    }
}

#[cfg(test)]
mod tests;
