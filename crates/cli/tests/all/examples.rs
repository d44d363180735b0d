//! Every bundled example through the built binary: what it registers, one call of each tool, each command, its hooks and
//! its host calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_test_support::{Output, Sandbox, eventually, example, keys, repository};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn path_of(name: &str) -> String {
    example(name).display().to_string()
}

/// What an example is expected to register.
struct Registers {
    format: &'static str,
    runtime: &'static str,
    version: &'static str,
    tools: &'static [&'static str],
    commands: &'static [&'static str],
    events: Value,
    hooks: &'static [&'static str],
}

#[track_caller]
fn check_inspect(sandbox: &Sandbox, name: &str, expected: Registers) {
    let (code, shown) = sandbox.json(&["inspect", &path_of(name)]);
    assert_eq!(code, 0, "{shown:#}");
    let own = "bus capabilities channels commands diagnostics events flags format hash hooks id providers runtime shortcuts \
               tools version";
    // What pi's format registers in its own words stands beside the rest, and how its code came to be.
    let pis = "busChannels code entryRenderers markdownTransformer mcpServers messageRenderers nativeProviders toolRenderers \
               virtualModels";
    let mut all: Vec<&str> = own.split(' ').collect();
    if expected.runtime == "js" {
        all.extend(pis.split(' '));
        all.sort_unstable();
    }
    assert_eq!(keys(&shown), all.join(" "));
    let names = |key: &str| -> Vec<&str> {
        let items = shown[key].as_array().expect("a list");
        items.iter().filter_map(|item| item["name"].as_str()).collect()
    };
    for tool in shown["tools"].as_array().expect("a list") {
        assert_eq!(keys(tool), "description label name parameters");
        assert_eq!(tool["parameters"]["type"], "object");
        assert!(!tool["description"].as_str().unwrap_or_default().is_empty(), "{tool}");
    }
    for command in shown["commands"].as_array().expect("a list") {
        assert_eq!(keys(command), "description name");
    }
    assert_eq!(shown["id"], name);
    assert_eq!(shown["format"], expected.format);
    assert_eq!(shown["runtime"], expected.runtime);
    assert_eq!(shown["version"], expected.version);
    assert_eq!(names("tools"), expected.tools);
    assert_eq!(names("commands"), expected.commands);
    assert_eq!(shown["events"], expected.events);
    assert_eq!(shown["hooks"], json!(expected.hooks));
    for key in ["flags", "shortcuts", "providers", "channels", "diagnostics"] {
        assert_eq!(shown[key], json!([]), "{key}");
    }
    sandbox.run(&["check", &path_of(name)]).exits(0);
}

/// Calls a tool of one example and gives exit code and the first text.
#[track_caller]
fn call(sandbox: &Sandbox, name: &str, words: &[&str]) -> (i32, String) {
    let path = path_of(name);
    let mut all = vec!["-e", path.as_str(), "call"];
    all.extend(words);
    let (code, answer) = sandbox.json(&all);
    let text = answer["content"][0]["text"].as_str().or(answer["error"]["message"].as_str());
    (code, text.unwrap_or_else(|| panic!("{answer:#}")).to_owned())
}

#[track_caller]
fn check_command(sandbox: &Sandbox, name: &str, words: &[&str], expected: Value) {
    let path = path_of(name);
    let mut all = vec!["-e", path.as_str(), "run"];
    all.extend(words);
    let (code, mut answer) = sandbox.json(&all);
    assert_eq!(code, 0, "{answer:#}");
    let call_id = answer.as_object_mut().and_then(|answer| answer.remove("call_id"));
    assert!(call_id.is_some(), "{answer:#}");
    assert_eq!(answer, expected);
}

#[test]
fn hello_sh() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "zot",
        runtime: "process",
        version: "1.0.0",
        tools: &["shout"],
        commands: &["hello"],
        events: json!({}),
        hooks: &[],
    };
    check_inspect(&sandbox, "hello-sh", registers);
    let shout = |text: &str| call(&sandbox, "hello-sh", &["shout", "--args", &json!({ "text": text }).to_string()]);
    for (text, shouted) in
        [("hey", "HEY"), ("", "(extension returned no content)"), ("a \"b\" \\n c\nd\u{e9}", "A \"B\" \\N C\nD\u{e9}")]
    {
        assert_eq!(shout(text), (0, shouted.to_owned()));
    }
    check_command(
        &sandbox,
        "hello-sh",
        &["hello", "you", "two"],
        json!({ "ok": true, "command": "hello", "extension": "hello-sh", "action": "display",
            "display": "Hello, you two!", "notifications": [] }),
    );
    check_command(
        &sandbox,
        "hello-sh",
        &["/hello"],
        json!({ "ok": true, "command": "hello", "extension": "hello-sh", "action": "display",
            "display": "Hello, world!", "notifications": [] }),
    );
}

#[test]
fn hello_py() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "zot",
        runtime: "process",
        version: "1.0.0",
        tools: &[],
        commands: &["hellopy"],
        events: json!({}),
        hooks: &[],
    };
    check_inspect(&sandbox, "hello-py", registers);
    check_command(
        &sandbox,
        "hello-py",
        &["hellopy"],
        json!({ "ok": true, "command": "hellopy", "extension": "hello-py", "action": "prompt",
            "prompt": "Say hello to me in a few words, with a single emoji.", "notifications": [] }),
    );
}

#[test]
fn chat_py() {
    use std::io::{BufRead, BufReader, Write};
    let sandbox = sandbox();
    let (code, shown) = sandbox.json(&["inspect", &path_of("chat-py")]);
    assert_eq!((code, &shown["channels"][0]["name"]), (0, &json!("socket")), "{shown:#}");
    sandbox.run(&["grant", "chat-py", "agent"]).exits(0);
    let words = ["-e", &path_of("chat-py"), "channel", "run", "socket", "--respond", "echo"];
    let mut host = sandbox.command(&words).stderr(std::process::Stdio::null()).spawn().expect("the binary runs");
    let socket = sandbox.home().join("data/chat-py/chat.sock");
    let mut stream = None;
    eventually("the channel listens", || {
        stream = std::os::unix::net::UnixStream::connect(&socket).ok();
        stream.is_some()
    });
    let mut stream = stream.expect("a connection");
    let mut lines = BufReader::new(stream.try_clone().expect("a connection")).lines();
    let mut ask = |text: &str| {
        stream.write_all(format!("{text}\n").as_bytes()).expect("the channel reads");
        lines.next().expect("an answer").expect("text")
    };
    let stranger = ask("hello");
    let code = stranger.split_once("pairing code ").and_then(|(_, rest)| rest.get(..8)).expect("a code");
    sandbox.run(&["channel", "pair", code]).exits(0);
    assert_eq!(ask("hello"), "hello");
    assert_eq!(ask("/help").split(' ').next(), Some("/new"));
    host.kill().expect("killed");
    host.wait().expect("reaped");
}

#[test]
fn clock_js() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "zot",
        runtime: "process",
        version: "1.0.0",
        tools: &["now"],
        commands: &["clock"],
        events: json!({}),
        hooks: &[],
    };
    check_inspect(&sandbox, "clock-js", registers);
    let (code, text) = call(&sandbox, "clock-js", &["now", "zone=UTC"]);
    assert!(code == 0 && text.ends_with("(UTC)"), "{text}");
    let (code, text) = call(&sandbox, "clock-js", &["now", "zone=Mars/Base"]);
    assert!(code == 1 && text.starts_with("cannot tell the time in \"Mars/Base\""), "{text}");
    let (code, text) = call(&sandbox, "clock-js", &["now", "after_ms=20000"]);
    assert!(code == 2 && text.contains("after_ms"), "{text}");
    let (code, answer) = sandbox.json(&["-e", &path_of("clock-js"), "run", "clock", "UTC"]);
    assert_eq!((code, &answer["action"]), (0, &json!("noop")), "{answer:#}");
    assert_eq!(answer["notifications"][0]["level"], "info");
    assert!(answer["notifications"][0]["message"].as_str().is_some_and(|text| text.ends_with("(UTC)")), "{answer:#}");
    let (code, answer) = sandbox.json(&["-e", &path_of("clock-js"), "run", "clock", "Mars/Base"]);
    assert_eq!(code, 1, "{answer:#}");
    assert!(answer["error"].as_str().is_some_and(|error| error.contains("Mars/Base")), "{answer:#}");
}

#[test]
fn guard_py() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "zot",
        runtime: "process",
        version: "1.0.0",
        tools: &[],
        commands: &[],
        events: json!({ "session_start": 1, "tool_call": 1 }),
        hooks: &["before_tool_call"],
    };
    check_inspect(&sandbox, "guard-py", registers);
    let (guard, shell) = (path_of("guard-py"), path_of("hello-sh"));
    let shout = |text: &str| {
        let args = json!({ "text": text }).to_string();
        sandbox.json(&["-e", &guard, "-e", &shell, "call", "shout", "--args", &args])
    };
    for text in ["rm -rf /", "x; /bin/rm --force y --recursive", ":(){ :|:& };:", "dd if=a of=/dev/sda"] {
        let (code, answer) = shout(text);
        assert_eq!((code, &answer["ok"], &answer["error"]["code"]), (4, &json!(false), &json!("denied")), "{text}");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("tool `shout` blocked by extension `guard-py`: refused by guard-py"), "{message}");
    }
    // It rewrites what it lets pass.
    let (code, answer) = shout("remove nothing   ");
    assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("REMOVE NOTHING")), "{answer:#}");
    let log = sandbox.run(&["ext", "logs", "guard-py"]).exits(0).stdout;
    assert!(log.contains("blocked shout: it removes whole trees by force"), "{log}");
    assert!(log.contains("rewrote shout: trailing white space"), "{log}");
}

#[test]
fn weather_nexo() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "nexo",
        runtime: "process",
        version: "1.0.0",
        tools: &["get_weather", "echo_meta"],
        commands: &[],
        events: json!({}),
        hooks: &["before_tool_call"],
    };
    check_inspect(&sandbox, "weather-nexo", registers);
    let path = path_of("weather-nexo");
    let (code, answer) = sandbox.json(&["-e", &path, "call", "ext_weather-nexo_get_weather", "city=Rome"]);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(keys(&answer["details"]), "city condition temperature_c");
    // Whatever JSON a tool returns is also there as text.
    let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap_or_default()).expect("JSON");
    assert_eq!(text, answer["details"]);
    let (_, again) = sandbox.json(&["-e", &path, "call", "ext_weather-nexo_get_weather", "city=Rome"]);
    assert_eq!(again["details"], answer["details"]);

    // The schema allows no further keys; `_meta` is added after the check.
    let (code, answer) = sandbox.json(&["-e", &path, "call", "ext_weather-nexo_echo_meta"]);
    assert_eq!(code, 0, "{answer:#}");
    let meta = &answer["details"]["_meta"];
    assert_eq!(meta["agent_id"], "jackfield");
    assert!(meta["session_id"].as_str().is_some_and(|id| id.starts_with("session-")), "{meta}");
    let (code, text) = call(&sandbox, "weather-nexo", &["ext_weather-nexo_echo_meta", "_meta=1"]);
    assert!(code == 2 && text.contains("_meta"), "{text}");

    let (code, text) = call(&sandbox, "weather-nexo", &["ext_weather-nexo_get_weather", "city=Atlantis"]);
    assert_eq!(
        (code, text.as_str()),
        (
            4,
            "tool `ext_weather-nexo_get_weather` blocked by extension `weather-nexo`: \
             Atlantis has sunk; there is no weather down there"
        )
    );
}

#[test]
fn notes_py() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "native",
        runtime: "process",
        version: "1.0.0",
        tools: &["note_add", "note_list", "note_import"],
        commands: &["notes"],
        events: json!({}),
        hooks: &[],
    };
    check_inspect(&sandbox, "notes-py", registers);
    sandbox.write(&sandbox.project().join("list.txt"), "milk\n\nbread\n");
    sandbox.write(&sandbox.project().join("other.md"), "butter\n");
    let import = |path: &str, flags: &[&str]| {
        let path = format!("path={path}");
        let mut words = vec!["note_import", path.as_str()];
        words.extend(flags);
        call(&sandbox, "notes-py", &words)
    };
    let denied = |path: &str| {
        let text = format!(
            "cannot read {path}: read {path} denied to extension notes-py: no person said yes; \
             to allow it run `jackfield grant notes-py read --path {path}`"
        );
        (1, text)
    };
    assert_eq!(call(&sandbox, "notes-py", &["note_list"]), (0, "no notes yet".to_owned()));
    assert_eq!(call(&sandbox, "notes-py", &["note_add", "text=eggs"]), (0, "noted (1 in all)".to_owned()));

    // Nobody is there to ask, so the file stays closed; the answer says how to open it.
    assert_eq!(import("list.txt", &[]), denied("list.txt"));
    assert_eq!(import("list.txt", &["--yes"]), (0, "imported 2 notes from list.txt".to_owned()));
    // `--yes` was for that run only.
    assert_eq!(import("list.txt", &[]), denied("list.txt"));
    sandbox.run(&["grant", "notes-py", "read", "--path", "*.txt"]).exits(0);
    assert_eq!(import("list.txt", &[]), (0, "imported 2 notes from list.txt".to_owned()));
    assert_eq!(import("other.md", &[]), denied("other.md"));
    // What the manifest declares is within the project, so neither a grant nor a yes leads out of it.
    for outside in ["../secret.txt", "/etc/hostname"] {
        let (code, text) = import(outside, &["--yes"]);
        assert!(code == 1 && text.contains("denied to extension notes-py: declared"), "{text}");
    }
    let output: Output = sandbox.run(&["-e", &path_of("notes-py"), "call", "note_import", "path=list.txt"]).exits(0);
    assert!(output.stderr.contains("[notes-py] … reading list.txt"), "{output:#?}");
    check_command(
        &sandbox,
        "notes-py",
        &["notes"],
        json!({ "ok": true, "command": "notes", "extension": "notes-py", "action": "display",
            "display": "1. eggs\n2. milk\n3. bread\n4. milk\n5. bread\n6. milk\n7. bread", "notifications": [] }),
    );
}

#[test]
fn tasks_ts() {
    let sandbox = sandbox();
    let registers = Registers {
        format: "pi",
        runtime: "js",
        version: "1.0.0",
        tools: &["tasks"],
        commands: &["tasks"],
        events: json!({ "tool_call": 1 }),
        hooks: &["before_tool_call"],
    };
    check_inspect(&sandbox, "tasks-ts", registers);
    let (code, report) = sandbox.json(&["check", &path_of("tasks-ts")]);
    let scan = &report["scan"];
    assert_eq!((code, &scan["verdict"], &scan["findings"]), (0, &json!("compatible"), &json!([])), "{report:#}");

    let list = sandbox.project().join(".tasks").join("tasks.json");
    let tasks = |words: &[&str]| {
        let mut all = vec!["tasks"];
        all.extend(words);
        call(&sandbox, "tasks-ts", &all)
    };
    // Nobody is there to ask: the write fails as it would for lack of rights, and the error says how to allow it.
    let (code, text) = tasks(&["action=add", "text=water the plants"]);
    assert!(code == 1 && text.starts_with("EACCES: permission denied, mkdir "), "{text}");
    assert!(text.contains("`jackfield grant tasks-ts write --path .tasks`"), "{text}");
    assert!(!list.exists());

    for power in ["read", "write"] {
        sandbox.run(&["grant", "tasks-ts", power, "--path", ".tasks", "--path", ".tasks/**"]).exits(0);
    }
    assert_eq!(tasks(&["action=list"]), (0, "no tasks".to_owned()));
    assert_eq!(tasks(&["action=add", "text=water the plants"]), (0, "added task 1".to_owned()));
    // Every call is a process of its own; the list is what the last one left.
    assert_eq!(tasks(&["action=add", "text=feed the cat"]), (0, "added task 2".to_owned()));
    assert_eq!(tasks(&["action=finish", "id=1"]), (0, "finished \"water the plants\"".to_owned()));
    let listed = "[x] 1. water the plants\n[ ] 2. feed the cat";
    assert_eq!(tasks(&["action=list"]), (0, listed.to_owned()));
    let kept: Value = serde_json::from_str(&fs::read_to_string(&list).expect("the list")).expect("JSON");
    assert_eq!(kept[0], json!({ "id": 1, "text": "water the plants", "done": true }));

    // What the extension throws is the tool's error, and so is what its runtime refuses by the schema.
    assert_eq!(tasks(&["action=finish", "id=7"]), (1, "there is no task 7; list shows those there are".to_owned()));
    let (code, text) = tasks(&["action=dance"]);
    assert!(code == 1 && text.contains("action"), "{text}");
    for secret in ["text=password: x", "text=the API-KEY = 1", "text=my Secret:2"] {
        let blocked = "tool `tasks` blocked by extension `tasks-ts`: a task must not hold a secret; say where the secret is \
                       kept instead";
        assert_eq!(tasks(&["action=add", secret]), (4, blocked.to_owned()));
    }
    assert_eq!(tasks(&["action=list"]), (0, listed.to_owned()));

    let noted = |message: &str| {
        json!({ "ok": true, "command": "tasks", "extension": "tasks-ts", "action": "noop",
            "notifications": [{ "level": "info", "message": message }] })
    };
    check_command(&sandbox, "tasks-ts", &["tasks"], noted(listed));
    // There is no terminal to ask at, so nothing is forgotten.
    check_command(&sandbox, "tasks-ts", &["tasks", "clear"], noted("kept them"));
    check_command(&sandbox, "tasks-ts", &["tasks"], noted(listed));
}

/// Builds the program of the Rust example beside the binary under test and gives the target directory.
fn built_wordcount() -> PathBuf {
    let profile = Path::new(env!("CARGO_BIN_EXE_jackfield")).parent().expect("a profile's directory");
    let target = profile.parent().expect("the target directory").to_path_buf();
    let name = match profile.file_name().and_then(|name| name.to_str()).expect("a name") {
        "debug" => "dev",
        other => other,
    };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--package", "wordcount-rs", "--profile", name, "--target-dir"])
        .arg(&target)
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target
}

#[test]
fn wordcount_rs() {
    let mut sandbox = sandbox();
    sandbox.env("CARGO_TARGET_DIR", &built_wordcount().display().to_string());
    let registers = Registers {
        format: "pi",
        runtime: "process",
        version: "1.0.0",
        tools: &["count"],
        commands: &["count"],
        events: json!({}),
        hooks: &[],
    };
    check_inspect(&sandbox, "wordcount-rs", registers);
    sandbox.write(&sandbox.project().join("poem.txt"), "über\nuns alle\n");
    let (code, answer) = sandbox.json(&["-e", &path_of("wordcount-rs"), "call", "count", "text=three more words"]);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "1 lines, 3 words, 16 characters" }]));
    assert_eq!(answer["details"], json!({ "lines": 1, "words": 3, "characters": 16 }));
    let denied = "cannot read poem.txt: read poem.txt denied to extension wordcount-rs: no person said yes; \
                  to allow it run `jackfield grant wordcount-rs read --path poem.txt`";
    assert_eq!(call(&sandbox, "wordcount-rs", &["count", "path=poem.txt"]), (1, denied.to_owned()));
    sandbox.run(&["grant", "wordcount-rs", "read", "--path", "poem.txt"]).exits(0);
    let counted = "2 lines, 3 words, 14 characters";
    assert_eq!(call(&sandbox, "wordcount-rs", &["count", "path=poem.txt"]), (0, counted.to_owned()));
    let (code, text) = call(&sandbox, "wordcount-rs", &["count"]);
    assert_eq!(code, 2, "{text}");
    check_command(
        &sandbox,
        "wordcount-rs",
        &["count", "one", "two"],
        json!({ "ok": true, "command": "count", "extension": "wordcount-rs", "action": "display",
            "display": "1 lines, 2 words, 7 characters", "notifications": [] }),
    );
}

#[test]
fn an_example_that_was_never_built_says_so() {
    let mut sandbox = sandbox();
    sandbox.env("CARGO_TARGET_DIR", &sandbox.path("nothing").display().to_string());
    let (code, answer) = sandbox.json(&["inspect", &path_of("wordcount-rs")]);
    assert_eq!(code, 6, "{answer:#}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("wordcount-rs is not built"), "the last words on stderr belong to the message: {message}");
}

#[test]
fn words_py() {
    let (sandbox, root) = (sandbox(), path_of("words-py"));
    let (_, listed) = sandbox.json(&["-e", &root, "list"]);
    let id = |at: usize| listed["extensions"][at]["id"].as_str();
    assert_eq!([id(0), id(1), id(2)], ["tools.count_words", "tools.word_of_file", "channels.dropbox"].map(Some));
    let (_, answer) = sandbox.json(&["-e", &root, "call", "count_words", "text=to be or not to be", "most=1"]);
    assert_eq!(answer["details"], json!({ "words": 6, "most": { "to": 2 } }));
    sandbox.write(&sandbox.project().join("notes.txt"), "first second third");
    let (_, answer) = sandbox.json(&["-e", &root, "--yes", "call", "word_of_file", "path=notes.txt", "number=2"]);
    assert_eq!(answer["content"][0]["text"], "second");
}

#[test]
fn every_example_has_a_test() {
    let (files, others) = (include_str!("examples.rs"), include_str!("components.rs"));
    let more = [include_str!("gateway/example.rs"), include_str!("mcp/found.rs"), include_str!("pith/workspace.rs")];
    let source = [files, others, &more.concat()].concat();
    let folders = fs::read_dir(repository().join("examples")).expect("examples");
    let mut seen = 0;
    // It is a program that embeds the host, with tests of its own, and no extension.
    let is_extension = |folder: &fs::DirEntry| folder.path().is_dir() && folder.file_name() != "embed-rs";
    for folder in folders.flatten().filter(is_extension) {
        let name = folder.file_name().to_string_lossy().into_owned();
        let test = format!("#[test]\nfn {}() {{", name.replace('-', "_"));
        assert!(source.contains(&test), "examples/{name} has no test of its name in this file or those above");
        seen += 1;
    }
    assert!(seen >= 9, "only {seen} examples found");
}
