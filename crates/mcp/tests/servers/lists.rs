//! What servers offer, and how it changes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Bed, eventually, relay, text};

#[tokio::test]
async fn lists_are_fetched_page_by_page() {
    let (_, whole) = Bed::of(&[]).start().await;
    let bed = Bed::of(&["pages"]);
    let (_, paged) = bed.start().await;
    assert_eq!(whole.tools, paged.tools);
    assert!(paged.tools.len() > 10);
    let definition = paged.tools[0].wire.as_ref().expect("kept").as_str();
    assert!(
        definition.starts_with(r#"{"name":"echo","title":"Echo","description":"Says it back.","zz":1,"#),
        "{definition}"
    );
}

#[tokio::test]
async fn odd_names_and_schemas_cost_their_own_tool() {
    let (_, offers) = Bed::of(&["names", "schemas"]).start().await;
    let names: Vec<&str> = offers.tools.iter().map(|tool| tool.name.as_str()).collect();
    for name in ["with space/and.dots", "日本", "bad", "none", "text"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(names.iter().filter(|name| **name == "echo").count(), 1);
    let warnings = offers.warnings.join("\n");
    for word in ["\"echo\" was registered twice", "it has no name", "not an object"] {
        assert!(warnings.contains(word), "{word}: {warnings}");
    }
}

#[tokio::test]
async fn a_list_that_changes_is_told_soon() {
    for mode in ["", "modern"] {
        let bed = Bed::of(&[mode]);
        let (server, _) = bed.start().await;
        if mode == "modern" {
            let listens = |message: &Value| {
                message["method"] == "subscriptions/listen"
                    && message["params"]["notifications"]["toolsListChanged"] == true
            };
            eventually("it listens", || bed.heard().iter().any(listens)).await;
        }
        let changes = || bed.host.changes.lock().expect("no panic").clone();
        text(&server, "change", json!({})).await;
        eventually("the change", || !changes().is_empty()).await;
        let has_new = |at: usize| changes()[at].tools.iter().any(|tool| tool.name == "new");
        assert!(has_new(0), "{mode}");
        assert_eq!(text(&server, "new", json!({})).await, "new");
        text(&server, "change", json!({})).await;
        eventually("the change back", || changes().len() == 2).await;
        assert!(!has_new(1), "five notifications are one change: {mode}");
    }
}

#[tokio::test]
async fn resources_are_subscribed_to_in_either_era() {
    let bed = Bed::of(&["modern"]);
    let (server, _) = bed.start().await;
    assert_eq!(relay(&server, "resources/subscribe", r#"{"uri":"odd://one"}"#).await.as_deref(), Ok("{}"));
    let listens = |message: &Value| message["params"]["notifications"]["resourceSubscriptions"] == json!(["odd://one"]);
    eventually("it listens to the resource", || bed.heard().iter().any(listens)).await;
    relay(&server, "resources/unsubscribe", r#"{"uri":"odd://one"}"#).await.expect("done");
    let is_cancel = |message: &Value| message["method"] == "notifications/cancelled";
    eventually("the old one is taken back", || bed.heard().iter().any(is_cancel)).await;
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let error = relay(&server, "resources/subscribe", r#"{"uri":"odd://one"}"#).await.expect_err("the server's to say");
    assert_eq!(error.details.expect("said")["rpc"]["code"], -32601);
}

#[tokio::test]
async fn a_polite_end_closes_the_input() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let exit = server.stop(Duration::from_secs(10)).await;
    assert!(exit.wanted && exit.reason == "exit status 0", "{exit:?}");
}
