//! The same component in wasmtime without anything of ours, with the same settings: what everything else is held against.

#![allow(missing_docs, clippy::indexing_slicing, reason = "generated")]

use std::time::Instant;

use jackfield_protocol::EnvParams;
use serde_json::{Value, json};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, Store, UpdateDeadline};

use crate::numbers::Samples;

wasmtime::component::bindgen!({ path: "../../wit", world: "extension", imports: { default: async }, exports: { default: async } });

use self::exports::jackfield::extension::guest::{Guest, GuestIndices};
use self::jackfield::extension::types::{CallContext, Content, Error};

/// What passes on the bare side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Text that lies ready: the least that anybody can do.
    Text,
    /// What whoever embeds wasmtime cannot do without: the arguments are a value and have to be written for the
    /// component, and a host call is read, and its answer is a value and has to be written.
    Json,
}

fn linked(component: &[u8], pass: Pass) -> anyhow::Result<InstancePre<()>> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    let engine = Engine::new(&config).map_err(shown)?;
    let component = Component::new(&engine, component).map_err(shown)?;
    let mut linker = Linker::new(&engine);
    let mut host = linker.instance("jackfield:extension/host@1.0.0").map_err(shown)?;
    match pass {
        Pass::Text => host.func_wrap_async("call", |_, (_, _): (String, String)| {
            Box::new(async { Ok((Ok::<String, Error>("{\"value\":\"x\"}".to_owned()),)) })
        }),
        Pass::Json => host.func_wrap_async("call", |_, (method, params): (String, String)| {
            Box::new(async move {
                let asked: EnvParams = serde_json::from_str(&params)?;
                wasmtime::ensure!(method == "env" && asked.name == "HOME", "it asks for the variable");
                Ok((Ok::<String, Error>(serde_json::to_string(&json!({ "value": "x" }))?),))
            })
        }),
    }
    .map_err(shown)?;
    linker.define_unknown_imports_as_traps(&component).map_err(shown)?;
    linker.instantiate_pre(&component).map_err(shown)
}

fn shown(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

fn store(pre: &InstancePre<()>) -> Store<()> {
    let mut store = Store::new(pre.engine(), ());
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
    store
}

/// How long it takes to make an instance.
pub(crate) async fn instantiations(component: &[u8], count: usize) -> anyhow::Result<Samples> {
    let pre = linked(component, Pass::Text)?;
    let mut samples = Samples::default();
    for _ in 0..count {
        let began = Instant::now();
        let mut store = store(&pre);
        pre.instantiate_async(&mut store).await.map_err(shown)?;
        samples.add(began.elapsed());
    }
    Ok(samples)
}

/// One instance.
pub(crate) struct Bare {
    store: Store<()>,
    guest: Guest,
}

impl Bare {
    pub(crate) async fn new(component: &[u8], pass: Pass) -> anyhow::Result<Self> {
        let pre = linked(component, pass)?;
        let mut store = store(&pre);
        let instance = pre.instantiate_async(&mut store).await.map_err(shown)?;
        let guest = GuestIndices::new(&pre).and_then(|guest| guest.load(&mut store, &instance)).map_err(shown)?;
        Ok(Self { store, guest })
    }

    /// The same with arguments that are a value, as every face has them.
    pub(crate) async fn call_with(&mut self, name: &str, args: Value) -> anyhow::Result<()> {
        let text = serde_json::to_string(&args)?;
        drop(args);
        self.call(name, &text).await
    }

    pub(crate) async fn call(&mut self, name: &str, args: &String) -> anyhow::Result<()> {
        let context = CallContext {
            call_id: "bench-1".to_owned(),
            workspace: "/project".to_owned(),
            deadline_ms: 10_000.0,
            meta: String::new(),
        };
        let answer = self.guest.call_call_tool(&mut self.store, &context, name, args).await.map_err(shown)?;
        let is_text = answer.is_ok_and(|answer| matches!(answer.content.as_slice(), [Content::Text(_)]));
        anyhow::ensure!(is_text, "it answers");
        Ok(())
    }
}
