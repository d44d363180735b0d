//! What the corpus of each target begins with: what the repository holds of the kind.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// How the target `transform` calls a file, by its first byte.
const ENDINGS: [&str; 8] = ["ts", "js", "mts", "mjs", "cts", "cjs", "tsx", "jsx"];

/// The seeds of a target.
pub(super) fn of(target: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    match target {
        "frames" => Ok(golden("")?.into_iter().map(String::into_bytes).collect()),
        "manifests" => manifests(),
        "components" => files(&root().join("examples"), &["wasm"])?.iter().map(|file| Ok(fs::read(file)?)).collect(),
        "transform" => scripts(),
        "sse" => Ok(streams()),
        "jsonc" => configurations(),
        "envelopes" => envelopes(),
        _ => Ok(Vec::new()),
    }
}

/// The messages of the transcripts whose names begin so.
fn golden(dialect: &str) -> anyhow::Result<Vec<String>> {
    let mut frames = Vec::new();
    for entry in fs::read_dir(root().join("protocol/golden"))?.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(dialect) {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for line in text.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            frames.extend(value.get("frame").map(ToString::to_string));
        }
    }
    Ok(frames)
}

/// The first byte says which form the rest is.
fn manifests() -> anyhow::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    let forms = ["extension.toml", "extension.json", "plugin.toml", "package.json"];
    for entry in fs::read_dir(root().join("examples"))?.flatten() {
        for (at, form) in (0_u8..).zip(forms) {
            if let Ok(text) = fs::read(entry.path().join(form)) {
                seeds.push([&[at][..], &text].concat());
            }
        }
    }
    let lock = "version = 1\n\n[extensions.\"a\"]\nsource = \"x\"\nlink = true\n\
                granted = [\n    { capability = \"read\", scope = { paths = [\"b\"] } },\n]\n";
    seeds.push([&[5][..], lock.as_bytes()].concat());
    Ok(seeds)
}

/// The examples, the probes that pi is compared with, and the library.
fn scripts() -> anyhow::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for folder in ["examples", "xtask/conformance/pi/probes", "crates/js/lib"] {
        for file in files(&root().join(folder), &ENDINGS)? {
            let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let which = (0_u8..).zip(ENDINGS).find(|(_, known)| *known == ending).map_or(0, |(at, _)| at);
            seeds.push([&[which][..], &fs::read(&file)?].concat());
        }
    }
    Ok(seeds)
}

/// The first two bytes are the limit and where the stream is cut.
fn streams() -> Vec<Vec<u8>> {
    let streams = [
        "id: 1\nretry: 500\ndata: \n\nevent: message\r\nid:2\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n",
        "\u{feff}: a comment\n\nevent: endpoint\ndata: /x\n\ndata: b\r\rdata: unfinished",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n\nid: 8\ndata: longer than the limit\n\ndata\n\n",
    ];
    streams.iter().flat_map(|text| [[200, 3], [20, 0]].map(|head| [&head[..], text.as_bytes()].concat())).collect()
}

fn configurations() -> anyhow::Result<Vec<Vec<u8>>> {
    let texts = [
        "{\n    // mine\n    \"theme\": \"dark\", /* really */\n    \"mcpServers\": {\n        \"a\": {} // first\n    }\n}\n",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t},\r\n}",
        "{\"a\":1.5e3,\"mcpServers\":{\"b\":{\"command\":\"x\",\"args\":[\"\\u00e9\",null]}}}",
        "\u{feff}{ \"mcpServers\": { \"jackfield\": { \"command\": \"old\" }, \"b\": 1 } } // end",
        "{ \"mcpServers\": {} }",
    ];
    let mut seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    for file in files(&root().join("examples"), &["json"])? {
        seeds.push(fs::read(file)?);
    }
    Ok(seeds)
}

fn envelopes() -> anyhow::Result<Vec<Vec<u8>>> {
    let lines = [
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?","data":{"a":1}}}"#,
        r#"{"jsonrpc":"2.0","id":-1.5,"result":null,"error":null}"#,
    ];
    let golden = golden("jsonrpc")?;
    Ok(lines.into_iter().map(str::to_owned).chain(golden).map(String::into_bytes).collect())
}

/// The files below a folder that end so.
fn files(folder: &Path, endings: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, endings)?);
        } else if path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
