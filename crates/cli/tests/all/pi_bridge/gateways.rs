//! The bridge before a gateway that does as it is told, and before none.

use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::support::{Pi, Server, Stage, TOKEN, VERSIONS, calls, ended, says};

struct Fake {
    stage: Stage,
    gateway: Server,
}

fn tool(name: &str) -> Value {
    let parameters = json!({
        "type": "object", "properties": { "x": { "type": "integer" }, "s": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
        "required": ["x"], "additionalProperties": false,
    });
    json!({ "name": name, "description": format!("does {name} \"\u{2028}`${{1}}` ü"), "parameters": parameters })
}

impl Fake {
    fn new(version: &'static str, replies: &[Value], tools: &[&str]) -> Self {
        let stage = Stage::new(version, replies);
        let fake = stage.sandbox.path("stage");
        let listed: Vec<Value> = tools.iter().map(|name| tool(name)).collect();
        stage.sandbox.write(&fake.join("tools.json"), &json!(listed).to_string());
        let gateway = Server::start("gateway.py", &[fake.to_str().expect("UTF-8"), TOKEN]);
        Self { stage, gateway }
    }

    fn offer(&self, tools: &[&str]) {
        let listed: Vec<Value> = tools.iter().map(|name| tool(name)).collect();
        let folder = self.stage.sandbox.path("stage");
        std::fs::write(folder.join("next.json"), json!(listed).to_string()).expect("a list");
        std::fs::rename(folder.join("next.json"), folder.join("tools.json")).expect("a list");
    }

    /// With how many different lists the bridge has asked for the next one.
    fn asked(&self) -> usize {
        let known =
            self.stage.lines("asked.jsonl").iter().map(Value::to_string).collect::<std::collections::BTreeSet<_>>();
        known.len()
    }

    /// pi with a bridge that knows no tool of its own, so that all come from the gateway.
    fn pi(&self, args: &[&str]) -> Pi {
        self.start(&[&["--no-session"], args].concat())
    }

    fn with_session(&self, folder: &str) -> Pi {
        self.start(&["--session-dir", folder])
    }

    fn start(&self, args: &[&str]) -> Pi {
        let bridge = self.stage.bridge().display().to_string();
        let mut command = std::process::Command::new(super::support::program(self.stage.version));
        self.stage.prepare(&mut command);
        command.env("JACKFIELD_BRIDGE_URL", format!("http://127.0.0.1:{}", self.gateway.port));
        command.env("JACKFIELD_BRIDGE_TOKEN", TOKEN);
        command.args(Stage::words()).args(["--no-extensions", "--extension", &bridge]).args(args);
        Pi::start(command)
    }
}

#[test]
fn tools_are_offered_called_and_answered() {
    for version in VERSIONS {
        let wishes = [
            ("echo", json!({ "x": 7, "s": "ü \"quoted\"" })),
            ("jackfield_read", json!({ "x": 8 })),
            ("fails", json!({ "x": 1 })),
            ("refused", json!({ "x": 1 })),
            ("picture", json!({ "x": 2 })),
            ("steps", json!({ "x": 3 })),
            ("breaks", json!({ "x": 4 })),
            ("together", json!({ "x": 5 })),
            ("together", json!({ "x": 6 })),
            ("echo", json!({ "x": "no number" })),
            ("echo", json!({})),
        ];
        let names = ["echo", "read", "fails", "refused", "picture", "steps", "breaks", "together"];
        let fake = Fake::new(version, &[calls(&wishes), says("done")], &names);
        let mut pi = fake.pi(&[]);
        let ends = pi.prompt("go");

        let offered = fake.stage.offered(0);
        assert!(offered.contains(&"read".to_owned()) && offered.contains(&"jackfield_read".to_owned()), "{offered:?}");
        let request = &fake.stage.requests()[0];
        let echo = request["tools"].as_array().and_then(|all| all.iter().find(|one| one["function"]["name"] == "echo"));
        let echo = &echo.expect("offered")["function"];
        assert_eq!(
            (&echo["description"], &echo["parameters"]),
            (&tool("echo")["description"], &tool("echo")["parameters"])
        );

        let results = fake.stage.results(1);
        assert_eq!(results[0], r#"{"s": "\u00fc \"quoted\"", "x": 7}"#);
        assert_eq!(results[1], r#"{"x": 8}"#);
        assert_eq!(results[2], "it failed as asked");
        assert!(
            results[7].ends_with(" with 2") && results[8].ends_with(" with 2"),
            "both at the same time: {results:?}"
        );
        assert_eq!(ended(&ends, "fails"), ("it failed as asked", true));
        assert_eq!(ended(&ends, "refused"), ("params/count: no number", true));
        let (text, is_error) = ended(&ends, "breaks");
        assert!(is_error && text.contains("went away"), "{text}");
        let picture = ends.iter().find(|end| end["toolName"] == "picture").expect("a picture");
        assert_eq!(picture["result"]["content"][1]["type"], "image");
        assert_eq!(picture["isError"], false);
        let seen = fake.stage.requests()[1].to_string();
        assert!(seen.contains("data:image/png;base64,iVBORw0KGgog"), "the picture reaches the model");
        let updates: Vec<&Value> = pi.seen.iter().filter(|event| event["type"] == "tool_execution_update").collect();
        let texts: Vec<&str> =
            updates.iter().filter_map(|event| event["partialResult"]["content"][0]["text"].as_str()).collect();
        assert_eq!(texts, ["1/2 step 1 ü", "2/2 step 2 ü"]);

        // Nine calls: what does not fit the schema did not leave pi.
        let made = fake.stage.lines("calls.jsonl");
        assert_eq!(made.len(), 9, "{made:#?}");
        for call in &made {
            assert_eq!(call["authorization"], format!("Bearer {TOKEN}"));
            assert_eq!(call["body"]["token"], TOKEN);
            assert_eq!(call["body"]["pid"], pi.child.id());
        }
        assert_eq!(made.iter().filter(|call| call["body"]["tool"] == "read").count(), 1, "under its own name");
        assert!(pi.seen.iter().all(|event| event["type"] != "noise" && event["type"] != "extension_error"));
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn tools_come_and_go_without_a_restart() {
    for version in VERSIONS {
        let replies =
            [says("1"), calls(&[("late", json!({ "x": 1 })), ("first", json!({ "x": 1 }))]), says("2"), says("3")];
        let fake = Fake::new(version, &replies, &["first"]);
        let mut pi = fake.pi(&[]);
        pi.prompt("one");
        fake.offer(&["late"]);
        // pi says nothing when its tools change, so the gateway is watched: it is asked anew once the list was taken.
        eventually("the bridge asks with the new list", || fake.asked() == 3);
        let ends = pi.prompt("two");
        assert_eq!(ended(&ends, "late"), (r#"{"x": 1}"#, false));
        let (text, is_error) = ended(&ends, "first");
        assert!(is_error, "a tool that has gone cannot be called: {text}");
        fake.offer(&["first", "late"]);
        eventually("the bridge asks with the next list", || fake.asked() == 4);
        pi.prompt("three");
        let offers = |request: usize, name: &str| fake.stage.offered(request).contains(&name.to_owned());
        assert!(offers(0, "first") && !offers(0, "late"));
        assert!(!offers(1, "first") && offers(1, "late"));
        assert!(offers(3, "first") && offers(3, "late"), "what comes back is offered again");
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn an_abort_reaches_the_gateway() {
    for version in VERSIONS {
        let fake = Fake::new(version, &[calls(&[("waits", json!({ "x": 1 }))])], &["waits"]);
        let mut pi = fake.pi(&[]);
        pi.send(json!({ "type": "prompt", "message": "go" }));
        eventually("the call is under way", || fake.stage.lines("calls.jsonl").len() == 1);
        pi.send(json!({ "type": "abort" }));
        pi.until("agent_end");
        eventually("the gateway sees that nobody waits", || fake.stage.lines("gone.jsonl").len() == 1);
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn a_gateway_that_is_gone_or_frozen_is_an_error_and_no_hang() {
    for version in VERSIONS {
        let wish = calls(&[("waits", json!({ "x": 1 }))]);
        let mut fake = Fake::new(version, &[wish.clone(), says("so"), wish, says("it goes")], &["waits"]);
        let mut pi = fake.pi(&[]);
        let frozen = Pid::from_raw(fake.gateway.child.id() as i32).expect("a pid");
        pi.send(json!({ "type": "prompt", "message": "go" }));
        eventually("the call is under way", || fake.stage.lines("calls.jsonl").len() == 1);
        let began = Instant::now();
        kill_process(frozen, Signal::STOP).expect("frozen");
        pi.until("agent_end");
        assert!(fake.stage.results(1)[0].contains("does not answer any more"), "{:?}", fake.stage.results(1));
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        fake.gateway.kill();
        let began = Instant::now();
        let ends = pi.prompt("again");
        let (text, is_error) = ended(&ends, "waits");
        assert!(is_error && text.contains("gateway is gone"), "{text}");
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn names_of_other_extensions_are_left_to_them() {
    for version in VERSIONS {
        let wish = calls(&[("echo", json!({})), ("jackfield_echo", json!({ "x": 5 }))]);
        let fake = Fake::new(version, &[wish, says("done")], &["echo"]);
        let other = fake.stage.sandbox.path("other.ts");
        let text = "export default (pi: any) => pi.registerTool({ name: 'echo', label: 'echo', description: 'theirs', \
                    parameters: { type: 'object', properties: {} }, \
                    execute: async () => ({ content: [{ type: 'text', text: process.env.JACKFIELD_BRIDGE_TOKEN ?? 'none' }], details: {} }) });";
        fake.stage.sandbox.write(&other, text);
        let mut pi = fake.pi(&["--extension", other.to_str().expect("UTF-8")]);
        let ends = pi.prompt("go");
        assert_eq!(ended(&ends, "echo"), ("none", false), "and the token is in the environment of nobody");
        assert_eq!(ended(&ends, "jackfield_echo"), (r#"{"x": 5}"#, false));
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn without_the_bridge_all_is_as_before() {
    for version in VERSIONS {
        let wish = calls(&[("echo", json!({ "x": 5 }))]);
        let fake = Fake::new(version, &[wish, says("done"), says("still here")], &["echo"]);
        let sessions = fake.stage.sandbox.path("sessions").display().to_string();
        let mut pi = fake.with_session(&sessions);
        pi.prompt("with it");
        assert_eq!(pi.end(), 0);
        let mut pi = fake.stage.pi(&["--no-extensions", "--session-dir", &sessions, "--continue"]);
        pi.prompt("without it");
        let offered = fake.stage.offered(2);
        assert!(!offered.contains(&"echo".to_owned()) && offered.contains(&"read".to_owned()), "{offered:?}");
        let said = fake.stage.requests()[2]["messages"].to_string();
        assert!(said.contains("with it") && said.contains("without it"), "the session goes on: {said}");
        assert_eq!(fake.stage.results(2), [r#"{"x": 5}"#]);
        assert_eq!(pi.end(), 0);
    }
}
