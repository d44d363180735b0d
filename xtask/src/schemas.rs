// Shared by the chore that writes the schemas and the test that compares them.

/// Every published schema: file name and text.
fn schemas() -> Vec<(String, String)> {
    use jackfield_protocol as p;
    fn of<T: schemars::JsonSchema>(name: &str) -> (String, String) {
        let schema = schemars::schema_for!(T);
        let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
        text.push('\n');
        (format!("{name}.json"), text)
    }
    vec![
        of::<p::Manifest>("manifest"),
        of::<p::CapabilityManifest>("capability-manifest"),
        of::<p::Contributions>("contributions"),
        of::<p::HostCall>("host-call"),
        of::<p::HostError>("host-error"),
        of::<p::CallError>("call-error"),
        of::<p::Event>("event"),
        of::<p::HookCall>("hook-call"),
        of::<p::HookVerdict>("hook-verdict"),
        of::<p::ToolResult>("tool-result"),
        of::<p::CommandReply>("command-reply"),
        of::<p::Notice>("notice"),
        of::<p::LogRecord>("log-record"),
        of::<p::frames::FromExtension>("frames-from-extension"),
        of::<p::frames::ToExtension>("frames-to-extension"),
        of::<p::jsonrpc::Request>("jsonrpc-request"),
        of::<p::jsonrpc::InitializeResult>("jsonrpc-initialize-result"),
        of::<p::jsonrpc::HookReply>("jsonrpc-hook-reply"),
        of::<p::envelope::Envelope>("envelope"),
    ]
}
