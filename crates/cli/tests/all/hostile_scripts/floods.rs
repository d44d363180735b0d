//! Much of everything: output, results, events.

use std::fs;

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{all_work, both, configured, fails, log, script, tool};

both! {
    fn output_without_end(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 60000");
        let source = tool("talk", "const line = 'x'.repeat(1e6); for (let i = 0; i < 300; i++) console.log(line); return 'said'")
            + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        assert_eq!(host.text("talk", json!({})), "said");
        all_work(&mut host, "own");
        let size: u64 = fs::read_dir(sandbox.home().join("logs")).expect("logs").flatten()
            .filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum();
        assert!(size < 32 * 1024 * 1024, "{size} bytes of log");
    }

    fn a_result_without_end(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 60000\nmemory_mb = 512");
        let source = tool("much", "return 'x'.repeat(100e6)") + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        let message = fails(&mut host, "much", "protocol", &["extension bad", "MB"]);
        assert!(message.len() < 1000, "{message}");
        all_work(&mut host, "own");
    }

    fn events_without_end(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 20000");
        script(&sandbox, "bad", &(tool("flood", "for (let i = 0; i < 1e4; i++) pi.events.emit('noise', { i }); return 'sent'") + &tool("own", "return 'fine'")));
        script(&sandbox, "hears", &("let heard = 0; pi.events.on('noise', () => { heard++ });\n".to_owned() + &tool("heard", "return String(heard > 0)")));
        let mut host = sandbox.rpc(&[]);
        assert_eq!(host.text("heard", json!({})), "false");
        assert_eq!(host.text("flood", json!({})), "sent");
        eventually("some are heard", || host.text("heard", json!({})) == "true");
        all_work(&mut host, "own");
    }

    fn registrations_without_end(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 60000");
        script(&sandbox, "bad", "for (let i = 0; i < 1e5; i++) tool('t' + i, async () => 'x');");
        let (code, listing) = sandbox.json(&["tools"]);
        assert_eq!(code, 0);
        assert!(listing["tools"].to_string().contains("\"good\""));
        // A quick machine takes them all in; a slow one gives up on the extension and says so.
        let all_there = listing["tools"].to_string().contains("\"t99999\"");
        assert!(all_there || listing["diagnostics"].to_string().contains("bad"), "{}", listing["diagnostics"]);
        assert!(log(&sandbox, "bad").len() < 1_000_000);
    }
}
