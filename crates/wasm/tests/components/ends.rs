//! How an instance ends.

use std::time::{Duration, Instant};

use jackfield_protocol::ErrorCode;
use serde_json::json;

use crate::support::{Bed, failure, text, tool, within};

#[tokio::test]
async fn a_polite_stop_is_heard() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    let exit = instance.stop(Duration::from_secs(5)).await;
    assert!(exit.wanted);
    assert!(bed.host.said("goodbye"));
    assert_eq!(instance.exited().await, exit);
    assert_eq!(failure(&instance, "echo", 1000).await.code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn one_that_will_not_go_is_ended() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    text(&instance, "stay", json!({})).await;
    let began = Instant::now();
    let exit = instance.stop(Duration::from_millis(150)).await;
    assert!(exit.wanted && began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!bed.host.said("goodbye"));
}

#[tokio::test]
async fn what_waits_fails_when_it_is_stopped() {
    let (instance, _) = Bed::actor().start().await;
    let waiting = instance.call(tool("env", json!({"name": "SLOW"})), within(20_000));
    let (outcome, _) = tokio::join!(waiting, instance.stop(Duration::from_millis(200)));
    let error = outcome.expect_err("gone");
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("stopped"), "{}", error.message);
}

#[tokio::test]
async fn one_that_refuses_to_begin_does_not_start() {
    let mut bed = Bed::actor();
    bed.id = "grumpy".to_owned();
    let why = bed.refused().await;
    assert!(why.contains("not today"), "{why}");
}
