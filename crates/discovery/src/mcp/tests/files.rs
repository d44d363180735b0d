//! Files of a folder `mcp`: which are servers, what they are called, and what belongs to them.

use super::super::super::testing::{Place, write};
use super::*;

#[test]
fn files_are_servers_and_helpers_are_not() {
    let place = Place::new();
    let root = place.input.home.extensions();
    let text =
        "url: https://x.org/mcp\nheaders: {Authorization: 'Bearer ${T}', N: 1}\nprotocol: legacy\ntimeout: 5000\n";
    let names =
        ["mcp/weather.yaml", "mcp/my server.yml", "mcp/_old.yaml", "mcp/.x.yaml", "mcp/notes.txt", "mcp/sub/deep.yaml"];
    for name in names.iter().chain(&["other/mcp/nested.yaml", "mcp.yaml"]) {
        write(&root.join(name), text);
    }
    let report = place.discover();
    assert_eq!(report.diagnostics, []);
    let ids: Vec<&str> = report.extensions.iter().map(|found| found.manifest.id.as_str()).collect();
    assert_eq!(ids, ["my-server", "weather"]);
    let found = &report.extensions[1];
    let McpTransport::Http { url, headers } = &server(found).transport else { panic!("not over HTTP") };
    assert_eq!(url, "https://x.org/mcp");
    assert_eq!(
        json!(headers),
        json!({ "Authorization": "Bearer ${T}", "N": "1" }),
        "variables are filled in when it starts"
    );
    assert_eq!(server(found).era, McpEra::Legacy);
    assert_eq!(server(found).prefix.as_deref(), Some("mcp_weather_"));
    assert_eq!(found.manifest.limits.call_timeout_ms, Some(5000));
    assert_eq!(found.manifest_path, fs::canonicalize(root.join("mcp/weather.yaml")).expect("a file"));

    let before = found.read_hash();
    write(&root.join("mcp/weather.yaml"), text.replace("x.org", "y.org"));
    assert_ne!(place.discover().extensions[1].read_hash(), before, "a change is noticed");
    // A second file of the same name loses.
    write(&root.join("mcp/weather.yml"), text);
    let report = place.discover();
    assert_eq!(report.extensions.iter().filter(|found| found.is_active()).count(), 2);
    assert!(report.diagnostics[0].message.contains("duplicate extension id `weather`"), "{:?}", report.diagnostics);
}

#[test]
fn a_folder_with_a_manifest_is_that_extension() {
    let place = Place::new();
    let root = place.input.home.extensions();
    write(&root.join("mcp/extension.toml"), "id = \"mcp\"\nversion = \"1.0.0\"\n\n[run]\ncommand = \"true\"\n");
    write(&root.join("mcp/config.yaml"), "a: b\n");
    let report = place.discover();
    assert_eq!(report.diagnostics, []);
    assert_eq!(report.extensions.len(), 1);
    assert_eq!(report.extensions[0].manifest.id.as_str(), "mcp");
}
