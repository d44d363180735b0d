//! The rules themselves, in the order in which they are considered.

use std::borrow::Cow;

use jackfield_protocol::{Capability, ExtensionId, Need, Power, Resource, glob_matches};

use crate::{Caller, Decision, Delivery, Effect, Grant, Mode, Place, Policy, Request, Step, Subject, Verdict};

impl Policy {
    /// Judges one request. The rules that refuse stand before those that allow, so none of the latter can undo one of
    /// the former.
    pub fn decide(&self, request: &Request<'_>) -> Decision {
        let mut chain = Chain(Vec::with_capacity(11));
        let ruling = match request.subject {
            Subject::Extension { declared } => self.for_extension(declared, request, &mut chain),
            Subject::Caller(caller) => self.for_caller(caller, request, &mut chain),
        };
        chain.end(request, ruling)
    }

    /// Judges whether the host may hand an extension something that it registered for.
    pub fn decide_delivery(&self, extension: &ExtensionId, what: Delivery<'_>) -> Decision {
        let need = Need { power: Power::Events, method: what.method(), resource: Resource::Whole };
        let detail = format!("the extension registered for {what}");
        let step = Step { rule: "registered", effect: Some(Verdict::Allow), detail: detail.into() };
        Decision::new(extension.clone(), need, Verdict::Allow, "registered", vec![step])
    }

    fn for_extension(&self, declared: &[Capability], request: &Request<'_>, chain: &mut Chain) -> Ruling {
        let (id, need) = (request.extension, request.need);
        let power = need.power;
        if self.deny_caps.contains(&power) {
            return Ruling::deny("deny_caps", format!("{power} is in deny_caps, which denies it to every extension"));
        }
        chain.pass("deny_caps", "the power is not in deny_caps");

        if let Place::Kept(what) = request.place {
            return Ruling::deny("host_files", format!("{need} is refused to every extension: {what}"));
        }

        if let Some(grant) = denying(request.grants, need) {
            return Ruling::deny("deny_grant", format!("{need} was denied to {id} by {grant}"));
        }
        chain.pass("deny_grant", "no stored denial covers it");

        if let Some(ruling) = self.deny_tools(need, chain) {
            return ruling;
        }

        if let Place::Own(what) = request.place {
            return Ruling::allow("own_files", format!("{need} is in {what}"));
        }

        if declared.is_empty() {
            chain.pass("declared", "the extension's manifest declares no capabilities");
        } else if power == Power::Log {
            chain.pass("declared", "writing to the log need not be declared");
        } else if declared.iter().any(|capability| capability.covers(need)) {
            chain.pass("declared", "the extension's manifest declares it");
        } else {
            return Ruling::deny("declared", format!("{need} is not declared in its manifest by {id}"));
        }

        if let Some(grant) = allowing(request.grants, need) {
            return Ruling::allow("allow_grant", format!("{need} was granted to {id} by {grant}"));
        }
        chain.pass("allow_grant", "no stored grant covers it");

        if power == Power::Log {
            return Ruling::allow("log", "writing to the log is always allowed");
        }
        chain.pass("log", "it is not the log");

        let lenient = self.mode != Mode::Strict;
        let harmless = matches!(power, Power::Session | Power::Ui | Power::Events);
        if harmless && lenient {
            return Ruling::allow("harmless", format!("{power} reaches nothing outside the host"));
        }
        chain.pass(
            "harmless",
            if harmless {
                "strict mode wants a grant even for what stays inside the host"
            } else {
                "the power reaches outside the host"
            },
        );

        let by_default = self.default_caps.contains(&power);
        let beyond = need.is_outside() || need.lets_in();
        if by_default && lenient && !beyond {
            return Ruling::allow("default_caps", format!("{power} is in default_caps"));
        }
        chain.pass(
            "default_caps",
            match (by_default, beyond) {
                (false, _) => "the power is not in default_caps",
                (true, true) => "default_caps cover nothing outside the project or open to other machines",
                (true, false) => "strict mode ignores default_caps",
            },
        );

        match self.mode {
            Mode::Strict => Ruling::deny("mode", "strict mode refuses what is not granted"),
            Mode::Prompt => Ruling { rule: "mode", verdict: Verdict::Ask, detail: "prompt mode asks a person".into() },
            Mode::Permissive if need.lets_in() => Ruling {
                rule: "mode",
                verdict: Verdict::Ask,
                detail: "to let other machines connect takes a grant that names the address, or a person".into(),
            },
            Mode::Permissive => Ruling::allow("mode", "permissive mode allows what is not denied"),
        }
    }

    fn for_caller(&self, caller: Caller, request: &Request<'_>, chain: &mut Chain) -> Ruling {
        let need = request.need;
        if let Some(ruling) = self.deny_tools(need, chain) {
            return ruling;
        }
        match caller {
            Caller::Person => return Ruling::allow("caller", "a person uses tools at will"),
            Caller::Agent => chain.pass("caller", "an agent uses the tool"),
        }
        if self.deny_caps.contains(&Power::Tool) {
            return Ruling::deny("deny_caps", "tool is in deny_caps, which denies every tool to agents");
        }
        chain.pass("deny_caps", "tool is not in deny_caps");

        if let Some(grant) = denying(request.grants, need) {
            return Ruling::deny("deny_grant", format!("{need} was denied by {grant}"));
        }
        chain.pass("deny_grant", "no stored denial covers it");

        if self.mode != Mode::Strict {
            return Ruling::allow("mode", format!("{} mode lets agents use tools that are not denied", self.mode));
        }
        chain.pass("mode", "strict mode lets agents use only tools that are allowed by name or granted");

        if let Some(pattern) = tool_of(need).and_then(|name| first_match(&self.allow_tools, name)) {
            return Ruling::allow("allow_tools", format!("{need} matches {pattern:?} in allow_tools"));
        }
        chain.pass("allow_tools", "nothing in allow_tools matches");

        match allowing(request.grants, need) {
            Some(grant) => Ruling::allow("allow_grant", format!("{need} was granted by {grant}")),
            None => Ruling::deny("allow_grant", "strict mode, and neither allow_tools nor a grant covers the tool"),
        }
    }

    fn deny_tools(&self, need: &Need, chain: &mut Chain) -> Option<Ruling> {
        // What is no tool has nothing to do with this rule, so `why` does not mention it.
        let name = tool_of(need)?;
        if let Some(pattern) = first_match(&self.deny_tools, name) {
            return Some(Ruling::deny("deny_tools", format!("tool {name} matches {pattern:?} in deny_tools")));
        }
        chain.pass("deny_tools", "nothing in deny_tools matches");
        None
    }
}

/// The tool that a need is about. `bash` stands for the power to run programs, but a person who denies the tool by its
/// name means it all the same.
fn tool_of(need: &Need) -> Option<&str> {
    match &need.resource {
        Resource::Tool(name) => Some(name),
        Resource::Program(name) if need.method == "tool" => Some(name),
        Resource::Path(_)
        | Resource::Tree(_)
        | Resource::Host(_)
        | Resource::Variable(_)
        | Resource::Program(_)
        | Resource::Whole => None,
    }
}

/// `*` alone means every tool, also one with a `/` in its name.
fn first_match<'a>(patterns: &'a [String], name: &str) -> Option<&'a String> {
    patterns.iter().find(|pattern| pattern.as_str() == "*" || glob_matches(pattern, name))
}

fn allowing<'a>(grants: &'a [Grant], need: &Need) -> Option<&'a Grant> {
    grants.iter().find(|grant| grant.effect == Effect::Allow && grant.capability.covers(need))
}

fn denying<'a>(grants: &'a [Grant], need: &Need) -> Option<&'a Grant> {
    grants.iter().find(|grant| grant.effect == Effect::Deny && grant.capability.touches(need))
}

/// The rule that decided.
struct Ruling {
    rule: &'static str,
    verdict: Verdict,
    detail: Cow<'static, str>,
}

impl Ruling {
    fn deny(rule: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { rule, verdict: Verdict::Deny, detail: detail.into() }
    }

    fn allow(rule: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { rule, verdict: Verdict::Allow, detail: detail.into() }
    }
}

/// The rules considered so far.
struct Chain(Vec<Step>);

impl Chain {
    fn pass(&mut self, rule: &'static str, detail: &'static str) {
        self.0.push(Step { rule, effect: None, detail: detail.into() });
    }

    fn end(mut self, request: &Request<'_>, Ruling { rule, verdict, detail }: Ruling) -> Decision {
        self.0.push(Step { rule, effect: Some(verdict), detail });
        Decision::new(request.extension.clone(), request.need.clone(), verdict, rule, self.0)
    }
}
