//! Extensions in TypeScript and JavaScript, as far as the binary finds, checks and installs them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_test_support::{Sandbox, keys};
use serde_json::{Value, json};

const FACTORY: &str = "export default function (pi) {}\n";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// `id state scope` of every row, in the order of the listing.
#[track_caller]
fn rows(sandbox: &Sandbox, flags: &[&str]) -> Vec<String> {
    let mut words = flags.to_vec();
    words.push("list");
    let (code, listing) = sandbox.json(&words);
    assert_eq!(code, 0, "{listing:#}");
    let row = |row: &Value| {
        assert_eq!((&row["format"], &row["runtime"]), (&json!("pi"), &json!("js")), "{row:#}");
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("id"), text("state"), text("scope"))
    };
    listing["extensions"].as_array().expect("a list").iter().map(row).collect()
}

#[test]
fn pis_places_are_searched_and_a_projects_wait_for_trust() {
    let sandbox = sandbox();
    let agent = sandbox.user().join(".pi/agent");
    sandbox.write(&agent.join("extensions/mine.ts"), FACTORY);
    sandbox.write(&agent.join("npm/node_modules/packed/index.js"), FACTORY);
    sandbox.write(
        &agent.join("npm/node_modules/packed/package.json"),
        r#"{"name": "packed", "version": "3.0.0", "pi": {"extensions": ["index.js"]}}"#,
    );
    sandbox.write(&agent.join("settings.json"), r#"{"packages": ["npm:packed"]}"#);
    sandbox.write(&sandbox.project().join(".pi/extensions/theirs/index.ts"), FACTORY);
    let (idle, waiting) = (["mine idle global", "packed idle global"], "theirs untrusted project");
    assert_eq!(rows(&sandbox, &[]), [waiting, idle[0], idle[1]]);
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(rows(&sandbox, &[]), ["theirs idle project", idle[0], idle[1]]);
    sandbox.write(&sandbox.project().join(".pi/extensions/theirs/index.ts"), "export default () => {};\n");
    assert_eq!(rows(&sandbox, &[])[0], waiting);
    // A script is shown by its own path: its directory holds others, too.
    let (_, listing) = sandbox.json(&["list"]);
    assert_eq!(listing["extensions"][1]["path"], json!(agent.join("extensions/mine.ts")));
    assert_eq!(listing["extensions"][2]["version"], "3.0.0");
    // Flags name scripts, directories and installed packages.
    let script = sandbox.path("loose.mts");
    sandbox.write(&script, FACTORY);
    let flags = ["-e", &text(&script), "-e", "npm:packed"];
    assert_eq!(rows(&sandbox, &flags)[..2], ["loose idle flag", "packed idle flag"]);
}

#[test]
fn check_reads_the_code_and_says_how_it_will_run() {
    let sandbox = sandbox();
    let script = sandbox.path("ext/guard.ts");
    sandbox.write(
        &script,
        "import { run } from './lib/run.js';\n\
         export default function (pi) {\n\
           pi.on('session_switch', () => run(pi));\n\
         }\n",
    );
    sandbox.write(&sandbox.path("ext/lib/run.ts"), "export const run = (pi: any) => pi.exec('git', ['status']);\n");
    let (code, answer) = sandbox.json(&["check", &text(&script)]);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(keys(&answer), "diagnostics id manifest ok path scan standing");
    let scan = &answer["scan"];
    assert_eq!(keys(scan), "capabilities files findings suggested_manifest verdict");
    assert_eq!(scan["verdict"], "warning");
    assert_eq!(keys(&scan["findings"][0]), "api column file level line message");
    assert_eq!((&scan["findings"][0]["file"], &scan["findings"][0]["line"]), (&json!(script), &json!(3)));
    // What is offered as a manifest is one, and asks for what was seen.
    let offered = sandbox.path("offered");
    sandbox.write(&offered.join("guard.ts"), FACTORY);
    sandbox.write(&offered.join("extension.json"), &scan["suggested_manifest"].to_string());
    let (code, checked) = sandbox.json(&["check", &text(&offered)]);
    assert_eq!(code, 0, "{checked:#}");
    let asks = &checked["manifest"]["capabilities"][0];
    assert_eq!((&asks["capability"], &asks["scope"]), (&json!("exec"), &json!({"programs": ["git"]})));
    assert_eq!(checked["diagnostics"], json!([]));
    let plain = sandbox.run(&["check", &text(&script)]).exits(0);
    assert!(plain.stdout.starts_with("guard - (pi): ready to run\nscan: warning (2 files)\n"), "{plain:#?}");
    assert!(
        plain.stdout.contains("warning  guard.ts:3:1  pi.on(\"session_switch\"): the event exists no more"),
        "{plain:#?}"
    );
    assert!(plain.stdout.contains("seems to need exec programs=git  (used in run.ts:1)"), "{plain:#?}");
    // In strict mode a warning stands against it.
    sandbox.run(&["--policy", "strict", "check", &text(&script)]).exits(6);
}

#[test]
fn what_cannot_run_is_blocked_with_its_reason() {
    let sandbox = sandbox();
    let pack = sandbox.path("pack");
    sandbox.write(&pack.join("package.json"), r#"{"name": "pack", "dependencies": {"left": "1"}}"#);
    sandbox.write(&pack.join("index.ts"), "import left from 'left';\nimport 'node-pty';\nexport default () => left;\n");
    let (code, answer) = sandbox.json(&["check", &text(&pack)]);
    assert_eq!((code, &answer["ok"], &answer["scan"]["verdict"]), (6, &json!(false), &json!("blocked")), "{answer:#}");
    let command =
        format!("npm install --omit=dev --ignore-scripts --prefix {}", pack.canonicalize().expect("there").display());
    let said = |value: &Value| value["message"].as_str().unwrap_or_default().to_owned();
    assert!(said(&answer["scan"]["findings"][0]).contains(&command), "{answer:#}");
    assert!(said(&answer["diagnostics"][0]).contains(&command), "{answer:#}");
    assert_eq!(
        (&answer["scan"]["findings"][1]["api"], &answer["scan"]["findings"][1]["line"]),
        (&json!("node-pty"), &json!(2))
    );
    let plain = sandbox.run(&["check", &text(&pack)]).exits(6);
    assert!(plain.stdout.starts_with("pack - (pi): cannot run as it is\nscan: blocked (1 file)\n"), "{plain:#?}");
    sandbox.run(&["check", &text(&sandbox.path("missing.ts"))]).exits(3);
    sandbox.write(&sandbox.path("notes.txt"), "");
    sandbox.run(&["check", &text(&sandbox.path("notes.txt"))]).exits(7);
    sandbox.run(&["check", "npm:nowhere"]).exits(7);
}

#[test]
fn a_package_with_several_is_looked_at_one_by_one() {
    let sandbox = sandbox();
    let pack = sandbox.path("pack");
    sandbox.write(&pack.join("package.json"), r#"{"name": "pack", "pi": {"extensions": ["a.ts", "b.ts"]}}"#);
    sandbox.write(&pack.join("a.ts"), FACTORY);
    sandbox.write(&pack.join("b.ts"), FACTORY);
    let (code, answer) = sandbox.json(&["check", &text(&pack)]);
    assert_eq!((code, &answer["id"]), (0, &json!("pack-a")), "{answer:#}");
    let message = answer["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "the package has other extensions: pack-b (--entry 2)");
    let (code, answer) = sandbox.json(&["check", &text(&pack), "--entry", "2"]);
    assert_eq!((code, &answer["id"]), (0, &json!("pack-b")), "{answer:#}");
    sandbox.run(&["check", &text(&pack), "--entry", "3"]).exits(3);
    sandbox.run(&["inspect", &text(&pack), "--entry", "0"]).exits(3);
}

/// Packs `dir` with npm and gives the tarball.
fn pack(dir: &Path, to: &Path) -> PathBuf {
    fs::create_dir_all(to).expect("a folder");
    let packed = Command::new("npm").args(["pack", "--ignore-scripts", "--pack-destination"]).arg(to).arg(dir).output();
    let packed = packed.expect("npm is needed for this test");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let mut files: Vec<PathBuf> = fs::read_dir(to).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.pop().expect("a tarball")
}

/// A registry on the loopback that has these packages: name, version, dependencies, tarball. Gives its address.
fn registry(packages: Vec<(&'static str, &'static str, Value, PathBuf)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/", listener.local_addr().expect("an address"));
    let own = address.clone();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve(stream, &own, &packages);
        }
    });
    address
}

fn serve(mut stream: TcpStream, address: &str, packages: &[(&str, &str, Value, PathBuf)]) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut request = String::new();
    reader.read_line(&mut request).ok();
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').replace("%2f", "/");
    let body = packages.iter().find_map(|(name, version, dependencies, tarball)| {
        if path == format!("{name}.tgz") {
            return fs::read(tarball).ok();
        }
        let dist = json!({ "tarball": format!("{address}{name}.tgz") });
        let package = json!({ "name": name, "version": version, "dependencies": dependencies, "dist": dist });
        let packument = json!({ "name": name, "dist-tags": { "latest": version }, "versions": { *version: package } });
        (path == **name).then(|| packument.to_string().into_bytes())
    });
    let (status, body) = body.map_or(("404 Not Found", b"{}".to_vec()), |body| ("200 OK", body));
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).ok();
}

#[test]
fn a_package_comes_from_the_registry_with_what_it_needs_and_goes() {
    let mut sandbox = sandbox();
    let source = sandbox.path("source");
    sandbox.write(&source.join("dep/package.json"), r#"{"name": "small-dep", "version": "1.0.1", "main": "index.js"}"#);
    sandbox.write(&source.join("dep/index.js"), "module.exports = 1;\n");
    let witness = sandbox.path("witness");
    sandbox.write(
        &source.join("ext/package.json"),
        &format!(
            r#"{{"name": "@me/ext", "version": "1.2.3", "description": "d", "dependencies": {{"small-dep": "^1.0.0"}},
                "pi": {{"extensions": ["index.ts"]}}, "scripts": {{"postinstall": "touch {}"}},
                "peerDependencies": {{"@earendil-works/pi-coding-agent": "*"}}}}"#,
            witness.display()
        ),
    );
    sandbox.write(&source.join("ext/index.ts"), "import dep from 'small-dep';\nexport default () => dep;\n");
    let tarballs = [pack(&source.join("dep"), &source.join("t1")), pack(&source.join("ext"), &source.join("t2"))];
    let [dep, ext] = tarballs;
    let address = registry(vec![
        ("small-dep", "1.0.1", json!({}), dep),
        ("@me/ext", "1.2.3", json!({"small-dep": "^1.0.0"}), ext),
    ]);
    sandbox.env("npm_config_registry", &address);
    sandbox.env("npm_config_cache", &text(&sandbox.path("npm-cache")));
    sandbox.env("npm_config_fetch_retries", "0");
    let (code, answer) = sandbox.json(&["ext", "install", "npm:@me/ext@^1"]);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!((&answer["id"], &answer["version"]), (&json!("me-ext"), &json!("1.2.3")));
    let dir = sandbox.home().join("extensions/me-ext");
    assert!(dir.join("node_modules/small-dep/index.js").is_file());
    assert!(!witness.exists(), "a script of the package ran");
    let record = fs::read_to_string(dir.join(".jackfield-install.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!((&record["source"], &record["version"]), (&json!("npm:@me/ext@^1"), &json!("1.2.3")));
    assert_eq!(record["dependencies"]["node_modules/small-dep"]["version"], "1.0.1", "{record:#}");
    assert_eq!(rows(&sandbox, &[]), ["me-ext idle global"]);
    sandbox.run(&["check", "npm:@me/ext"]).exits(0);
    sandbox.run(&["ext", "disable", "me-ext"]).exits(0);
    assert_eq!(rows(&sandbox, &[]), ["me-ext disabled global"]);
    sandbox.run(&["ext", "enable", "npm:@me/ext"]).exits(0);
    assert_eq!(rows(&sandbox, &[]), ["me-ext idle global"]);
    sandbox.run(&["ext", "install", "npm:@me/ext"]).exits(2);
    sandbox.run(&["ext", "install", "--update", "npm:@me/ext"]).exits(0);
    let (code, answer) = sandbox.json(&["ext", "install", "npm:not-there"]);
    assert_eq!(code, 7, "{answer:#}");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|message| message.contains("npm install failed")),
        "{answer:#}"
    );
    sandbox.run(&["--yes", "ext", "remove", "me-ext"]).exits(0);
    assert_eq!(rows(&sandbox, &[]), Vec::<String>::new());
    assert_eq!(fs::read_dir(sandbox.home().join("extensions")).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn without_npm_the_error_says_what_to_install() {
    let mut sandbox = sandbox();
    sandbox.env("PATH", &text(&sandbox.path("empty")));
    let (code, answer) = sandbox.json(&["ext", "install", "npm:anything"]);
    assert_eq!(code, 7, "{answer:#}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("npm is not on PATH; install Node.js"), "{message}");
    sandbox.run(&["ext", "install", "npm:--global"]).exits(7);
}
