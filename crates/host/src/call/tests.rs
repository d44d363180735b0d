//! Calls to a made-up runtime: the host goes by the traits that it states, not by its kind.

use jackfield_discovery::{Extent, Found, Origin, Standing};
use jackfield_files::Home;
use jackfield_policy::Mode;
use jackfield_protocol::{Contributions, Event, Format, Launch, Manifest, RuntimeKind, ToolSpec};
use jackfield_runtime::{BoxFuture, Exit, HostApi, Instance, Runtime, StartError, StartSpec, Started, Traits};

use super::*;
use crate::host::{Host, HostOptions};

/// A runtime for MCP servers that states any traits.
struct Unusual(Traits);

impl Runtime for Unusual {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Mcp
    }

    fn traits(&self, _manifest: &Manifest) -> Traits {
        self.0
    }

    fn start(&self, _spec: StartSpec, _host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let parameters = json!({ "type": "object", "properties": { "count": { "type": "integer" } } });
        let tool = ToolSpec { parameters, ..ToolSpec::open("count") };
        let contributions = Contributions { tools: vec![tool], ..Contributions::default() };
        Box::pin(async { Ok(Started { instance: Arc::new(Echo), contributions }) })
    }
}

/// Answers each tool call with its arguments.
struct Echo;

impl Instance for Echo {
    fn call(&self, call: ExtensionCall, _cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(async move {
            match call {
                ExtensionCall::Tool { args, .. } => Ok(Reply::Tool(ToolResult::text(args.to_string()))),
                other => Err(CallError::new(ErrorCode::Unsupported, format!("{other:?}"))),
            }
        })
    }

    fn notify(&self, _event: &Event) {}

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async { Exit::default() })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::pending())
    }
}

/// Calls the tool of the made-up runtime with an argument that its schema refuses.
async fn call_with_bad_argument(traits: Traits) -> Result<ToolResult, CallError> {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    let host = Host::open(HostOptions {
        mode: Some(Mode::Permissive),
        runtimes: vec![Arc::new(Unusual(traits))],
        only_ext: true,
        ..HostOptions::new(Home::at(dir.path().join("home")), folder("project"))
    })
    .unwrap();
    let launch = Launch::Js { entry: "index.ts".to_owned() };
    let manifest = Manifest::plain("odd", Format::Native, RuntimeKind::Mcp, launch);
    let dir = folder("odd");
    let found = Found {
        manifest: Arc::new(manifest),
        manifest_path: dir.join("extension.json"),
        dir,
        origin: Origin::Flag,
        standing: Standing::Active,
        extent: Extent::Directory,
    };
    let supervised = (ExtensionId::from("odd"), host.inner.supervised(found));
    host.inner.extensions.all.store(Arc::new([supervised].into_iter().collect()));
    host.learn(Duration::from_secs(10)).await;
    host.call_tool(ToolCall::by(Caller::Person, "ext_odd_count", json!({ "count": "many" }))).await.result
}

#[tokio::test]
async fn the_host_validates_arguments_unless_the_runtime_does() {
    let refused = call_with_bad_argument(Traits::default()).await.expect_err("the schema wants a number");
    assert_eq!(refused.code, ErrorCode::InvalidRequest, "{refused}");
    let traits = Traits { validates_arguments: true, ..Traits::default() };
    let answer = call_with_bad_argument(traits).await.expect("the runtime decides");
    assert_eq!(answer, ToolResult::text(json!({ "count": "many" }).to_string()));
}
