//! The names of tools: what a model calls a tool, and the longer name that no other tool has.

use jackfield_protocol::{ExtensionId, Format, Launch, Manifest, short_tool_name};
use sha2::{Digest, Sha256};

/// The longest name of a tool that every provider accepts.
const LONGEST_NAME: usize = 64;

/// `ext_{id}_{tool}`, at most 64 characters.
pub(crate) fn qualified_name(id: &ExtensionId, tool: &str) -> String {
    short_tool_name(&acceptable(id.as_str()), &acceptable(tool), hash6)
}

/// The tool's own name where providers accept it, else the nearest that they do.
pub(super) fn public_name(id: &ExtensionId, tool: &str) -> String {
    let name = acceptable(tool);
    if name.is_empty() || name.len() > 64 { qualified_name(id, tool) } else { name }
}

/// What stands before the names of a server's tools.
fn prefix(manifest: &Manifest) -> String {
    let own = match &manifest.launch {
        Launch::Mcp(server) => server.prefix.clone(),
        _ => None,
    };
    own.unwrap_or_else(|| format!("{}__", manifest.id))
}

/// Whether a tool of that name would be this server's, whatever it offers.
pub(crate) fn is_servers(manifest: &Manifest, tool: &str) -> bool {
    let prefix = acceptable(&prefix(manifest));
    manifest.format == Format::Mcp && !prefix.is_empty() && tool.starts_with(&prefix)
}

/// Whether an extension could offer a tool of that name, as far as its manifest tells.
pub(crate) fn could_own(manifest: &Manifest, tool: &str) -> bool {
    let prefix = acceptable(&prefix(manifest));
    // A name that is taken or too long begins otherwise.
    manifest.format != Format::Mcp
        || tool.starts_with(&prefix)
        || tool.starts_with("ext_")
        || prefix.len() > LONGEST_NAME / 2
}

/// The name of a server's tool: what stands before all of its names, and its own.
pub(super) fn server_name(manifest: &Manifest, tool: &str) -> String {
    let full = format!("{}{tool}", prefix(manifest));
    let name = acceptable(&full);
    if !name.is_empty() && name.len() <= LONGEST_NAME && (name == full || tool.is_ascii()) {
        return name;
    }
    // Made of the whole name, so that two that begin alike, or that no provider accepts, stay apart.
    let hash = hash6(full.as_bytes());
    let kept: String = name.chars().take(LONGEST_NAME - 1 - hash.len()).collect();
    format!("{kept}_{hash}")
}

fn acceptable(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn hash6(material: &[u8]) -> String {
    let digest = Sha256::digest(material);
    digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jackfield_protocol::{McpEra, McpServer, McpTransport, RuntimeKind};

    use super::*;

    #[test]
    fn tools_of_servers_have_their_servers_name_in_front() {
        let server = |prefix: Option<&str>| {
            let transport = McpTransport::Http { url: String::new(), headers: BTreeMap::new() };
            let server = McpServer { transport, era: McpEra::Auto, prefix: prefix.map(str::to_owned) };
            Manifest::plain("my.server", Format::Mcp, RuntimeKind::Mcp, Launch::Mcp(server))
        };
        assert_eq!(server_name(&server(None), "read_file"), "my_server__read_file");
        assert_eq!(server_name(&server(Some("")), "read_file"), "read_file");
        assert_eq!(server_name(&server(Some("x-")), "a/b"), "x-a_b");
        let long = server_name(&server(None), &"t".repeat(100));
        assert_eq!(long.len(), 64);
        assert_ne!(long, server_name(&server(None), &"t".repeat(101)), "a hash tells them apart");
        let one = server_name(&server(None), "日本");
        assert!(one.starts_with("my_server____") && one != server_name(&server(None), "中国"), "{one}");
    }

    #[test]
    fn long_names_follow_the_published_vectors() {
        let check = |id: &str, tool: &str, name: &str| assert_eq!(qualified_name(&id.into(), tool), name);
        check("weather", "get_forecast", "ext_weather_get_forecast");
        check(
            "mybot",
            &"very_long_tool_name_".repeat(10),
            "ext_mybot_very_long_tool_name_very_long_tool_name_very_lo_8b98e1",
        );
        check(&"x".repeat(60), "t", &format!("ext_{}_7d131c", "x".repeat(53)));
        check(&"a".repeat(29), &"b".repeat(31), "ext_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbb_0e67f5");
    }

    #[test]
    fn names_that_providers_refuse_are_replaced() {
        assert_eq!(public_name(&"e".into(), "Bad Name!"), "Bad_Name_");
        assert_eq!(public_name(&"e".into(), ""), "ext_e_");
        assert!(public_name(&"e".into(), &"x".repeat(100)).len() <= 64);
    }
}
