use std::path::Path;
use std::slice::from_ref;

use jackfield_protocol::{Capability, Need, Power, Resource, Scope};

use super::*;

fn need(power: Power, resource: Resource) -> Need {
    let method = match power {
        Power::Read | Power::Write => "fs",
        Power::Exec => "exec",
        Power::Http => "http",
        Power::Listen => "net",
        Power::Env => "env",
        Power::Tool => "tool",
        Power::Session => "session",
        Power::Ui => "ui",
        Power::Agent => "agent",
        Power::Events => "events",
        Power::Log => "log",
    };
    Need { power, method, resource }
}

fn resource(power: Power) -> Resource {
    match power {
        Power::Read | Power::Write => Resource::Path("src/a.rs".into()),
        Power::Exec => Resource::Program("git".into()),
        Power::Http => Resource::Host("api.example.org:443".into()),
        Power::Listen => Resource::Host("127.0.0.1:8080".into()),
        Power::Env => Resource::Variable("LANG".into()),
        Power::Tool => Resource::Tool("weather".into()),
        Power::Session | Power::Ui | Power::Agent | Power::Events | Power::Log => Resource::Whole,
    }
}

fn grant(effect: Effect, capability: Capability) -> Grant {
    Grant {
        extension: "ext".into(),
        capability,
        effect,
        project: None,
        granted_at: "2026-01-01T00:00:00Z".into(),
        id: "0123456789".into(),
    }
}

fn paths(power: Power, pattern: &str) -> Capability {
    Capability { scope: Scope { paths: vec![pattern.into()], ..Scope::default() }, ..Capability::unlimited(power) }
}

fn tools(pattern: &str) -> Capability {
    Capability {
        scope: Scope { tools: vec![pattern.into()], ..Scope::default() },
        ..Capability::unlimited(Power::Tool)
    }
}

fn policy(mode: Mode) -> Policy {
    Policy { mode, ..Policy::default() }
}

/// A rule with needs that it decides and needs that it leaves to others.
#[track_caller]
fn check_rule(
    policy: &Policy,
    declared: &[Capability],
    grants: &[Grant],
    rule: &str,
    verdict: Verdict,
    matches: &[Need],
    not_match: &[Need],
) {
    let id = ExtensionId::from("ext");
    let decide = |need: &Need| {
        policy.decide(&Request {
            extension: &id,
            subject: Subject::Extension { declared },
            need,
            grants,
            place: Place::Open,
        })
    };
    for need in matches {
        let decision = decide(need);
        assert_eq!((decision.rule(), decision.verdict()), (rule, verdict), "{need}: {decision:#?}");
        let last = decision.chain().last().expect("a chain");
        assert_eq!((last.rule, last.effect), (rule, Some(verdict)));
        assert!(decision.chain().iter().rev().skip(1).all(|step| step.effect.is_none()));
    }
    for need in not_match {
        let decision = decide(need);
        assert_ne!(decision.rule(), rule, "{need}: {decision:#?}");
    }
}

#[test]
fn rules_for_extensions() {
    let of = |power| need(power, resource(power));
    let path = |power, path: &str| need(power, Resource::Path(path.into()));
    let tool = |name: &str| need(Power::Tool, Resource::Tool(name.into()));
    use Power::*;
    use Verdict::*;

    let denies = Policy { deny_caps: vec![Exec, Log], ..policy(Mode::Permissive) };
    let allow_exec = [grant(Effect::Allow, Capability::unlimited(Exec))];
    check_rule(&denies, &[], &allow_exec, "deny_caps", Deny, &[of(Exec), of(Log)], &[of(Read)]);

    let mixed = [grant(Effect::Allow, Capability::unlimited(Read)), grant(Effect::Deny, paths(Read, "secret/**"))];
    let prompt = policy(Mode::Prompt);
    check_rule(&prompt, &[], &mixed, "deny_grant", Deny, &[path(Read, "secret/key")], &[path(Read, "src/a")]);
    check_rule(
        &prompt,
        &[],
        &mixed,
        "allow_grant",
        Allow,
        &[path(Read, "src/a")],
        &[path(Read, "secret/key"), of(Write)],
    );

    let no_tools = Policy { deny_tools: vec!["rm_*".into(), "bash".into()], ..policy(Mode::Permissive) };
    let all_tools = [grant(Effect::Allow, Capability::unlimited(Tool))];
    let bash = Need { power: Exec, method: "tool", resource: Resource::Program("bash".into()) };
    let git = Need { power: Exec, method: "exec", resource: Resource::Program("bash".into()) };
    check_rule(
        &no_tools,
        &[],
        &all_tools,
        "deny_tools",
        Deny,
        &[tool("rm_all"), bash],
        &[tool("ls_all"), git, of(Read)],
    );
    let none = Policy { deny_tools: vec!["*".into()], ..policy(Mode::Permissive) };
    check_rule(&none, &[], &[], "deny_tools", Deny, &[tool("a"), tool("x/y")], &[of(Exec)]);

    let declared = [paths(Read, "src/**")];
    let all_reads = [grant(Effect::Allow, Capability::unlimited(Read))];
    check_rule(
        &policy(Mode::Permissive),
        &declared,
        &all_reads,
        "declared",
        Deny,
        &[path(Read, "etc/x"), of(Exec), of(Ui)],
        &[path(Read, "src/x"), of(Log)],
    );

    for mode in Mode::ALL {
        check_rule(&policy(mode), &declared, &[], "log", Allow, &[of(Log)], &[of(Ui), of(Read)]);
    }
    check_rule(&prompt, &[], &[], "harmless", Allow, &[of(Session), of(Ui), of(Events)], &[of(Tool), of(Env)]);
    let defaults = Policy { default_caps: vec![Read, Http], ..policy(Mode::Prompt) };
    check_rule(&defaults, &[], &[], "default_caps", Allow, &[of(Read), of(Http)], &[of(Write)]);
    let strict = Policy { mode: Mode::Strict, ..defaults };
    check_rule(&strict, &[], &[], "mode", Deny, &[of(Read), of(Http), of(Write), of(Ui)], &[of(Log)]);
    check_rule(&prompt, &[], &[], "mode", Ask, &[of(Read), of(Write), of(Exec), of(Tool)], &[of(Log), of(Ui)]);
    check_rule(&policy(Mode::Permissive), &[], &[], "mode", Allow, &[of(Exec), of(Env)], &[of(Log)]);
}

#[test]
fn rules_for_callers() {
    let tool = need(Power::Tool, Resource::Tool("weather".into()));
    #[track_caller]
    fn check(policy: &Policy, caller: Caller, grants: &[Grant], need: &Need, rule: &str, verdict: Verdict) {
        let id = ExtensionId::from("ext");
        let decision = policy.decide(&Request {
            extension: &id,
            subject: Subject::Caller(caller),
            need,
            grants,
            place: Place::Open,
        });
        assert_eq!((decision.rule(), decision.verdict()), (rule, verdict), "{decision:#?}");
    }
    use Caller::*;
    use Verdict::*;
    let denied = Policy { deny_tools: vec!["wea*".into()], ..policy(Mode::Permissive) };
    check(&denied, Person, &[], &tool, "deny_tools", Deny);
    check(&denied, Agent, &[], &tool, "deny_tools", Deny);
    let no_agents = Policy { deny_caps: vec![Power::Tool], ..policy(Mode::Permissive) };
    check(&no_agents, Person, &[], &tool, "caller", Allow);
    check(&no_agents, Agent, &[], &tool, "deny_caps", Deny);
    check(&policy(Mode::Prompt), Agent, &[], &tool, "mode", Allow);
    check(&policy(Mode::Permissive), Agent, &[], &tool, "mode", Allow);
    check(&policy(Mode::Strict), Person, &[], &tool, "caller", Allow);
    check(&policy(Mode::Strict), Agent, &[], &tool, "allow_grant", Deny);
    check(&policy(Mode::Strict), Agent, &[grant(Effect::Allow, tools("weather"))], &tool, "allow_grant", Allow);
    check(&policy(Mode::Strict), Agent, &[grant(Effect::Allow, tools("other"))], &tool, "allow_grant", Deny);
    check(&policy(Mode::Prompt), Agent, &[grant(Effect::Deny, tools("weather"))], &tool, "deny_grant", Deny);
    let named = Policy { allow_tools: vec!["weather".into()], ..policy(Mode::Strict) };
    check(&named, Agent, &[], &tool, "allow_tools", Allow);
    check(&named, Agent, &[], &need(Power::Tool, Resource::Tool("bomb".into())), "allow_grant", Deny);
}

/// Every combination of mode, lists, grants, declarations, subject and power: adding a denial or choosing a stricter mode
/// never loosens a verdict.
#[test]
fn strictness_is_monotonic() {
    let id = ExtensionId::from("ext");
    let mut compared = 0;
    for power in Power::ALL {
        let need = need(power, resource(power));
        let other = if power == Power::Read { Power::Write } else { Power::Read };
        let declarations = [vec![], vec![Capability::unlimited(power)], vec![Capability::unlimited(other)]];
        let subjects: Vec<Subject<'_>> = declarations
            .iter()
            .map(|declared| Subject::Extension { declared })
            .chain([Subject::Caller(Caller::Person), Subject::Caller(Caller::Agent)])
            .collect();
        for subject in subjects {
            for bits in 0..64_u32 {
                let bit = |n: u32| bits & (1 << n) != 0;
                let verdict = |mode: Mode, deny_cap: bool, deny_grant: bool, deny_tool: bool| {
                    let policy = Policy {
                        mode,
                        default_caps: if bit(0) { vec![power] } else { vec![] },
                        deny_caps: if deny_cap { vec![power] } else { vec![] },
                        max_memory_mb: None,
                        allow_tools: if bit(1) { vec!["*".into()] } else { vec![] },
                        deny_tools: if deny_tool { vec!["weather".into()] } else { vec![] },
                    };
                    let mut grants = Vec::new();
                    if bit(2) {
                        grants.push(grant(Effect::Allow, Capability::exactly(&need)));
                    }
                    if deny_grant {
                        grants.push(grant(Effect::Deny, Capability::unlimited(power)));
                    }
                    policy
                        .decide(&Request { extension: &id, subject, need: &need, grants: &grants, place: Place::Open })
                        .verdict()
                };
                let (cap, stored, tool) = (bit(3), bit(4), bit(5));
                for (index, mode) in Mode::ALL.into_iter().enumerate() {
                    let here = verdict(mode, cap, stored, tool);
                    for (cap, stored, tool) in [(true, stored, tool), (cap, true, tool), (cap, stored, true)] {
                        assert!(verdict(mode, cap, stored, tool) <= here, "{subject:?} {need} {mode} {bits:b}");
                        compared += 1;
                    }
                    for looser in Mode::ALL.into_iter().skip(index + 1) {
                        assert!(here <= verdict(looser, cap, stored, tool), "{subject:?} {need} {mode} {bits:b}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert_eq!(compared, 12 * 5 * 64 * (9 + 3));
}

#[test]
fn the_chain_is_data() {
    let id = ExtensionId::from("ext");
    let need = need(Power::Read, Resource::Path("a".into()));
    let subject = Subject::Extension { declared: &[] };
    let decision =
        Policy::default().decide(&Request { extension: &id, subject, need: &need, grants: &[], place: Place::Open });
    let json = serde_json::to_value(&decision).expect("serialises");
    assert_eq!(json["verdict"], "ask");
    assert_eq!(json["rule"], "mode");
    let rules: Vec<_> = json["chain"].as_array().expect("a list").iter().map(|step| step["rule"].as_str()).collect();
    let expected =
        ["deny_caps", "deny_grant", "declared", "allow_grant", "log", "harmless", "default_caps", "mode"].map(Some);
    assert_eq!(rules, expected);
    assert_eq!(json["chain"][7]["effect"], "ask");
    assert!(json["chain"][0]["effect"].is_null());
    assert_eq!(decision.reason(), "prompt mode asks a person");
}

fn parse(text: &str) -> Result<(Policy, Vec<String>), PolicyError> {
    Policy::parse(text, Path::new("home/config.toml"))
}

#[test]
fn configuration() {
    assert_eq!(parse(""), Ok((Policy::default(), vec![])));
    assert_eq!(parse("[other]\nx = 1"), Ok((Policy::default(), vec![])));
    let text = "[policy]\nmode = \"strict\"\ndefault_caps = [\"read\"]\ndeny_caps = [\"exec\", \"env\"]\n\
        max_memory_mb = 256\nallow_tools = [\"a*\"]\ndeny_tools = [\"b\"]\n";
    let expected = Policy {
        mode: Mode::Strict,
        default_caps: vec![Power::Read],
        deny_caps: vec![Power::Exec, Power::Env],
        max_memory_mb: Some(256),
        allow_tools: vec!["a*".into()],
        deny_tools: vec!["b".into()],
    };
    assert_eq!(parse(text), Ok((expected, vec![])));
    let (_, warnings) = parse("mode = \"strict\"\n[policy]\ndeny_cap = [\"exec\"]").expect("warnings only");
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].starts_with("mode stands outside of [policy]"), "{warnings:?}");
    assert!(warnings[1].contains("policy.deny_cap") && warnings[1].contains("deny_caps"), "{warnings:?}");
}

#[test]
fn configuration_errors_name_the_file_and_the_key() {
    #[track_caller]
    fn check(text: &str, parts: &[&str]) {
        let message = parse(text).expect_err("an error").to_string();
        for part in parts.iter().chain(&["home/config.toml"]) {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
    check("[policy]\nmode = \"lax\"", &["policy.mode", "\"lax\"", "strict, prompt, permissive"]);
    check("[policy]\nmode = 3", &["policy.mode", "integer"]);
    check("[policy]\ndeny_caps = [\"exe\"]", &["policy.deny_caps", "\"exe\"", "read, write, exec"]);
    check("[policy]\ndeny_caps = \"exec\"", &["policy.deny_caps", "a list of strings"]);
    check("[policy]\ndefault_caps = [1]", &["policy.default_caps", "a list of strings"]);
    check("[policy]\nmax_memory_mb = -1", &["policy.max_memory_mb", "-1"]);
    check("[policy]\ndeny_tools = { a = 1 }", &["policy.deny_tools"]);
    check("policy = 1", &["policy", "a table"]);
    check("[policy]\nmode = ", &["line 2"]);
}

#[test]
fn what_is_outside_takes_a_grant_that_names_it() {
    use Power::*;
    use Verdict::*;
    let path = |power, path: &str| need(power, Resource::Path(path.into()));
    let listen = |host: &str| need(Listen, Resource::Host(host.into()));
    let outside = path(Read, "/etc/passwd");
    let reads = [grant(Effect::Allow, Capability::unlimited(Read)), grant(Effect::Allow, paths(Read, "**"))];
    let by_default = Policy { default_caps: vec![Read, Listen], ..policy(Mode::Prompt) };
    check_rule(&by_default, &[], &reads, "mode", Ask, &[outside.clone(), listen("0.0.0.0:80")], &[path(Read, "a")]);
    check_rule(&policy(Mode::Strict), &[], &reads, "mode", Deny, from_ref(&outside), &[path(Read, "a")]);
    check_rule(&policy(Mode::Permissive), &[], &[], "mode", Allow, &[outside.clone(), listen("[::1]:80")], &[]);
    check_rule(&policy(Mode::Permissive), &[], &[], "mode", Ask, &[listen("0.0.0.0:80"), listen("192.0.2.1:1")], &[]);
    let named = [grant(Effect::Allow, paths(Read, "/etc/**"))];
    check_rule(
        &policy(Mode::Strict),
        &[],
        &named,
        "allow_grant",
        Allow,
        from_ref(&outside),
        &[path(Read, "/elsewhere/x")],
    );
    check_rule(&by_default, &[paths(Read, "src/**")], &named, "declared", Deny, from_ref(&outside), &[]);
    // A denial without a scope is for everything.
    let denied = [named[0].clone(), grant(Effect::Deny, Capability::unlimited(Read))];
    check_rule(&policy(Mode::Permissive), &[], &denied, "deny_grant", Deny, &[outside], &[path(Write, "/etc/x")]);
}

#[test]
fn an_extensions_own_files_and_the_hosts() {
    let id = ExtensionId::from("ext");
    let need = need(Power::Write, Resource::Path("/home/x/data/ext/a".into()));
    let everything = [grant(Effect::Allow, paths(Power::Write, "/**"))];
    let decide = |policy: &Policy, grants: &[Grant], place| {
        let subject = Subject::Extension { declared: &[Capability::unlimited(Power::Env)] };
        let decision = policy.decide(&Request { extension: &id, subject, need: &need, grants, place });
        (decision.rule(), decision.verdict())
    };
    let own = Place::Own("its data folder");
    assert_eq!(decide(&policy(Mode::Strict), &[], own), ("own_files", Verdict::Allow));
    let no_writes = Policy { deny_caps: vec![Power::Write], ..policy(Mode::Permissive) };
    assert_eq!(decide(&no_writes, &everything, own), ("deny_caps", Verdict::Deny));
    let denied = [grant(Effect::Deny, Capability::unlimited(Power::Write))];
    assert_eq!(decide(&policy(Mode::Permissive), &denied, own), ("deny_grant", Verdict::Deny));
    let kept = Place::Kept("it is the host's own");
    assert_eq!(decide(&policy(Mode::Permissive), &everything, kept), ("host_files", Verdict::Deny));
}
