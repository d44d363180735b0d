//! Guards of a channel. The extension notes what reaches it.

use jackfield_policy::{Delivery, Effect, Grant, Mode};
use jackfield_protocol::{Capability, ChannelSpec, Contributions};

use super::*;
use crate::attach::Attached;
use crate::testing::{FakeExtension, Stage};

const NOTHING: [&str; 0] = [];
const CONNECTED: [&str; 1] = ["chat: channel connect"];

/// A client with the channel `chat`. It goes when the second value is dropped.
fn stage(mode: Mode) -> (Stage, Attached) {
    let channels = vec![ChannelSpec { name: "chat".to_owned(), description: String::new() }];
    let stage = Stage::of([]).mode(mode).open();
    let attached =
        stage.attach(FakeExtension::new("chat").contributes(Contributions { channels, ..Contributions::default() }));
    (stage, attached)
}

#[tokio::test]
async fn nothing_reaches_an_extension_that_policy_refuses() {
    let (stage, _attached) = stage(Mode::Strict);
    let endpoint = stage.host.channel_endpoint("chat").expect("a channel");
    assert_eq!(endpoint.connect().await.err().map(|error| error.code), Some(ErrorCode::Denied));
    assert_eq!(stage.delivered(), NOTHING);
}

#[tokio::test]
async fn a_connection_is_on_record_and_a_later_refusal_counts() {
    let (stage, _attached) = stage(Mode::Permissive);
    let endpoint = stage.host.channel_endpoint("chat").expect("a channel");
    let instance = endpoint.connect().await.expect("connected");
    assert_eq!(stage.delivered(), CONNECTED);
    assert_eq!(stage.evidence("channel.connect"), [json!({ "channel": "chat", "extension": "client:chat" })]);
    let extension = endpoint.extension().clone();
    let need = Need { power: Power::Agent, method: "channel", resource: Resource::Whole };
    stage.host.inner.run_grants().push(Grant {
        extension,
        capability: Capability::exactly(&need),
        effect: Effect::Deny,
        project: None,
        granted_at: String::new(),
        id: "test".to_owned(),
    });
    drop(instance);
    let refused = endpoint.connect().await.err().expect("refused");
    assert!(refused.code == ErrorCode::Denied && refused.message.contains("any more"), "{refused}");
    assert_eq!(stage.delivered(), CONNECTED);
}

#[tokio::test]
async fn a_permit_for_something_else_opens_no_channel() {
    let (stage, _attached) = stage(Mode::Permissive);
    let endpoint = stage.host.channel_endpoint("chat").expect("a channel");
    let mut instance = endpoint.connect().await.expect("connected");
    instance.permit = stage.host.inner.permit_delivery(endpoint.extension(), Delivery::Hook("x")).unwrap();
    let refused = instance.call(ChannelOp::Receive, CallCx::within(CALL_TIMEOUT)).await.expect_err("no such permit");
    assert_eq!(refused.code, ErrorCode::Internal, "{refused}");
    assert_eq!(stage.delivered(), CONNECTED);
}
