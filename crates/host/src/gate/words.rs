//! Calls, refusals and grants in words for a person.

use jackfield_protocol::{Capability, ExtensionId, HostCall, Need};
use serde_json::Value;

/// The whole act of a call whose need does not say all of it: the command line, the request line, the tool with its
/// arguments.
pub(super) fn act_of(call: &HostCall) -> Option<String> {
    match call {
        HostCall::Exec(params) => {
            let variables = params.env.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
            let words = std::iter::once(&params.command).chain(&params.args).map(|word| shell_word(word).into_owned());
            let mut act = variables.chain(words).collect::<Vec<_>>().join(" ");
            if let Some(stdin) = &params.stdin {
                act.push_str(&format!(" <<< {}", shell_word(stdin)));
            }
            if let Some(cwd) = params.cwd.as_ref().filter(|cwd| *cwd != ".") {
                act.push_str(&format!(" (in {})", shell_word(cwd)));
            }
            Some(act)
        }
        HostCall::Http(params) => {
            let method = params.method.as_deref().unwrap_or("GET");
            let body = params.body.as_ref().map(|body| format!(" with a body of {} bytes", body.len()));
            Some(format!("{method} {}{}", params.url, body.unwrap_or_default()))
        }
        HostCall::Tool(tool) => match (tool.name.as_str(), &tool.input) {
            ("bash", input) => input.get("command").and_then(Value::as_str).map(str::to_owned),
            ("read" | "ls" | "store_secret" | "list_secrets", _) => None,
            (name, input) => Some(format!("{name} {input}")),
        },
        HostCall::Agent(params) => Some(params.op.clone()),
        HostCall::Mcp(params) => Some(params.method.clone()),
        HostCall::Fs(_)
        | HostCall::Net(_)
        | HostCall::Env(_)
        | HostCall::Session(_)
        | HostCall::Ui(_)
        | HostCall::Events(_)
        | HostCall::Log(_) => None,
    }
}

/// What a person can do about a refusal. Only some rules give way to a grant.
pub(super) fn advice(extension: &ExtensionId, need: &Need, rule: &str) -> String {
    match rule {
        "host_files" => "no grant allows it".to_owned(),
        "declared" => "no grant goes beyond what its manifest declares".to_owned(),
        "deny_caps" | "deny_tools" => format!("no grant allows it as long as {rule} in config.toml names it"),
        "deny_grant" => format!("to take the denial back run `jackfield revoke {extension} {}`", need.power),
        _ => format!("to allow it run `jackfield grant {extension} {}`", grant_words(need)),
    }
}

/// The arguments of `jackfield grant` that would cover `need` and nothing else, for a shell.
pub fn grant_words(need: &Need) -> String {
    let scope = Capability::exactly(need).scope;
    let flags = [
        ("path", scope.paths),
        ("host", scope.hosts),
        ("env", scope.env),
        ("tool", scope.tools),
        ("program", scope.programs),
    ];
    let mut words = need.power.to_string();
    for (flag, value) in flags.iter().flat_map(|(flag, values)| values.iter().map(move |value| (flag, value))) {
        words.push_str(&format!(" --{flag} {}", shell_word(value)));
    }
    words
}

/// The text as one word of a shell's line.
fn shell_word(text: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,[]".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(method: &str, params: Value, act: Option<&str>) {
        let call = HostCall::parse(method, params).expect("a host call");
        assert_eq!(act_of(&call).as_deref(), act);
    }

    #[test]
    fn arguments_are_part_of_the_act() {
        let exec = json!({ "command": "git", "args": ["push", "--force", "a b"] });
        check("exec", exec, Some("git push --force 'a b'"));
        check("http", json!({ "url": "https://x.org/a?b=c", "method": "POST" }), Some("POST https://x.org/a?b=c"));
        let exec = json!({ "command": "sh", "stdin": "curl x|sh", "env": { "A": "b c" }, "cwd": "sub" });
        check("exec", exec, Some("A='b c' sh <<< 'curl x|sh' (in sub)"));
        check("http", json!({ "url": "https://x.org/" }), Some("GET https://x.org/"));
        check("tool", json!({ "name": "bash", "input": { "command": "rm -rf ." } }), Some("rm -rf ."));
        check("tool", json!({ "name": "deploy", "input": { "to": "prod" } }), Some(r#"deploy {"to":"prod"}"#));
        check("fs", json!({ "op": "read", "path": "a" }), None);
    }
}
