//! `send_message` and `send_media` over the bridge: ordinary tools of the host in the real pi.

use std::fs;

use serde_json::json;

use super::support::{Server, Stage, VERSIONS, calls, ended, says};

#[test]
fn pi_writes_to_people_and_sends_what_is_in_the_project() {
    for version in VERSIONS {
        let wishes = [
            ("send_message", json!({ "text": "the build is green" })),
            ("send_media", json!({ "path": "out/chart.png", "caption": "today" })),
            ("send_media", json!({ "path": "/etc/hostname.txt" })),
        ];
        let stage = Stage::new(version, &[calls(&wishes), says("done")]);
        let server = Server::start("telegram.py", &[stage.sandbox.path("stage").to_str().expect("UTF-8")]);
        let chart = stage.sandbox.project().join("out/chart.png");
        fs::create_dir_all(chart.parent().expect("a folder")).expect("a folder");
        fs::write(&chart, b"\x89PNG\r\n\x1a\n and so on").expect("a chart");
        stage.sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
        let mut command = stage.sandbox.command(&["pi", "--pi"]);
        stage.prepare(&mut command);
        command.env("TELEGRAM_BOT_TOKEN", "12345:not-a-real-token_0123456789");
        command.env("TELEGRAM_API_BASE", format!("http://127.0.0.1:{}", server.port));
        command
            .arg(super::support::program(version))
            .arg("--")
            .args(Stage::words())
            .args(["--no-session", "--no-extensions"]);
        let mut pi = super::support::Pi::start(command);
        let ends = pi.prompt("go");
        let results = stage.results(1);
        assert_eq!(results[0], "the message was sent to 42 on telegram (18 characters)");
        assert_eq!(results[1], "the file was sent to 42 on telegram (18 bytes)");
        assert!(results[2].contains("is not sent"), "{results:?}");
        assert!(ends.iter().any(|end| end["isError"] == true) && !ended(&ends, "send_message").1);
        let sent = stage.lines("telegram.jsonl");
        let methods: Vec<&str> =
            sent.iter().filter_map(|one| one["method"].as_str()).filter(|one| *one != "getMe").collect();
        assert!(methods.contains(&"sendMessage") && methods.contains(&"sendPhoto") && methods.len() == 2, "{sent:#?}");
        let photo = sent.iter().find(|one| one["method"] == "sendPhoto").expect("a photo");
        let body = photo["body"].as_str().expect("a body");
        assert!(body.contains("name=\"chat_id\"\r\n\r\n42\r\n") && body.contains("\r\n\r\ntoday\r\n"), "{body}");
        assert!(body.contains("filename=\"chart.png\"") && body.contains("PNG\r\n\u{1a}\n and so on"), "{body}");
        assert_eq!(pi.end(), 0);
    }
}
