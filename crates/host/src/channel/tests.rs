//! Guards of a channel, with an instance that notes what reaches it.

use std::sync::{Mutex, PoisonError};

use jackfield_files::Home;
use jackfield_policy::{Delivery, Effect, Grant, Mode};
use jackfield_protocol::{Capability, ChannelSpec, Contributions, Event, Format, Launch, Manifest, RuntimeKind};
use jackfield_runtime::{BoxFuture, Exit, Instance};
use tempfile::TempDir;

use super::*;
use crate::attach::Attached;
use crate::host::HostOptions;

#[derive(Default)]
struct Chat {
    reached: Mutex<Vec<ChannelOp>>,
}

impl Chat {
    fn reached(&self) -> Vec<ChannelOp> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Instance for Chat {
    fn call(&self, call: ExtensionCall, _cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        if let ExtensionCall::Channel { op, .. } = call {
            self.reached.lock().unwrap_or_else(PoisonError::into_inner).push(op);
        }
        Box::pin(async { Ok(Reply::Channel(None)) })
    }

    fn notify(&self, _event: &Event) {}

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async { Exit::default() })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::pending())
    }
}

struct Stage {
    _dir: TempDir,
    host: Host,
    chat: Arc<Chat>,
    _attached: Attached,
}

fn stage(mode: Mode) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let options = HostOptions::new(Home::at(dir.path().join("home")), project);
    let host = Host::open(HostOptions { mode: Some(mode), only_ext: true, ..options }).unwrap();
    let chat = Arc::new(Chat::default());
    let launch = Launch::Unsupported { reason: "it runs already".to_owned() };
    let manifest = Manifest::plain("chat", Format::Native, RuntimeKind::Client, launch);
    let channels = vec![ChannelSpec { name: "chat".to_owned(), description: String::new() }];
    let contributions = Contributions { channels, ..Contributions::default() };
    let attached = host.attach(manifest, Arc::clone(&chat) as _, contributions).unwrap();
    Stage { _dir: dir, host, chat, _attached: attached }
}

#[tokio::test]
async fn nothing_reaches_an_extension_that_policy_refuses() {
    let stage = stage(Mode::Strict);
    let endpoint = stage.host.channel_endpoint("chat").expect("a channel");
    assert_eq!(endpoint.connect().await.err().map(|error| error.code), Some(ErrorCode::Denied));
    assert!(stage.chat.reached().is_empty());
}

#[tokio::test]
async fn a_connection_is_on_record_and_a_later_refusal_counts() {
    let stage = stage(Mode::Permissive);
    let endpoint = stage.host.channel_endpoint("chat").expect("a channel");
    let instance = endpoint.connect().await.expect("connected");
    assert_eq!(stage.chat.reached(), [ChannelOp::Connect]);
    let mut ledger = String::new();
    for entry in std::fs::read_dir(stage.host.home().ledger()).unwrap() {
        let path = entry.unwrap().path();
        ledger += &std::fs::read_to_string(&path).unwrap_or_default();
    }
    assert!(ledger.contains("channel.connect"), "{ledger}");
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
    assert_eq!(stage.chat.reached(), [ChannelOp::Connect]);
}

#[tokio::test]
async fn a_permit_for_something_else_opens_no_channel() {
    let stage = stage(Mode::Permissive);
    let endpoint = stage.host.channel_endpoint("chat").expect("a channel");
    let mut instance = endpoint.connect().await.expect("connected");
    instance.permit = stage.host.inner.permit_delivery(endpoint.extension(), Delivery::Hook("x")).unwrap();
    let refused = instance.call(ChannelOp::Receive, CallCx::within(CALL_TIMEOUT)).await.expect_err("no such permit");
    assert_eq!(refused.code, ErrorCode::Internal, "{refused}");
    assert_eq!(stage.chat.reached(), [ChannelOp::Connect]);
}
