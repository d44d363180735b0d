//! What toolchains import of WASI whether they need it or not. There is no file system, no network and no environment:
//! questions are answered with nothing, time and chance are served, what is written to standard output is logged, and
//! everything else ends the component with an error that names what it tried.

use std::time::{SystemTime, UNIX_EPOCH};

use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Linker, LinkerInstance, Resource, ResourceAny, ResourceType, Val};

use crate::fault::Halt;
use crate::state::State;

/// Lines that are not finished yet are cut here.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// What a stream says that it takes at once.
const WRITE_CAPACITY: u64 = 64 * 1024;
/// Random bytes that are given at once.
const MAX_RANDOM: u64 = 64 * 1024;

/// What every resource of WASI is here: a number that tells standard output from standard error.
struct Stub;
const STDIN: u32 = 0;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;
const POLLABLE: u32 = 3;

/// What was written and is no whole line yet.
#[derive(Default)]
pub(crate) struct Console {
    lines: [Vec<u8>; 2],
}

/// Defines what `component` imports of WASI.
pub(crate) fn add(linker: &mut Linker<State>, component: &Component) -> wasmtime::Result<()> {
    let engine = linker.engine().clone();
    let ty = component.component_type();
    for (name, import) in ty.imports(&engine) {
        if !name.starts_with("wasi:") {
            continue;
        }
        let ComponentItem::ComponentInstance(interface) = import.ty else { continue };
        let mut instance = linker.instance(name)?;
        for (item, export) in interface.exports(&engine) {
            match export.ty {
                ComponentItem::Resource(_) => instance.resource(item, ResourceType::host::<Stub>(), |_, _| Ok(()))?,
                ComponentItem::ComponentFunc(_) => function(&mut instance, name, item)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn function(instance: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    let plain = interface.split('@').next().unwrap_or(interface).to_owned();
    let (full, name) = (format!("{interface}#{name}"), name.to_owned());
    instance.func_new(&name.clone(), move |store, ty, params, results| {
        match answer(store, &ty, &plain, &name, params)? {
            Some(answers) if answers.len() == results.len() => {
                for (result, answer) in results.iter_mut().zip(answers) {
                    *result = answer;
                }
                Ok(())
            }
            _ => {
                let why = "a component gets no files, network or environment of WASI, only the host calls it imports";
                Err(Halt::Refused(format!("it called {full}, which is denied: {why}")).into())
            }
        }
    })
}

fn resource(mut store: StoreContextMut<'_, State>, kind: u32) -> wasmtime::Result<Val> {
    let any = ResourceAny::try_from_resource(Resource::<Stub>::new_own(kind), &mut store)?;
    Ok(Val::Resource(any))
}

fn ok(value: Option<Val>) -> Val {
    Val::Result(Ok(value.map(Box::new)))
}

/// What a function answers; nothing where it is denied.
fn answer(
    mut store: StoreContextMut<'_, State>,
    ty: &ComponentFunc,
    interface: &str,
    name: &str,
    params: &[Val],
) -> wasmtime::Result<Option<Vec<Val>>> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Some(match (interface, name) {
        ("wasi:cli/environment", "get-environment" | "get-arguments") => vec![Val::List(Vec::new())],
        ("wasi:cli/environment", "initial-cwd") => vec![Val::Option(None)],
        ("wasi:cli/stdin", "get-stdin") => vec![resource(store, STDIN)?],
        ("wasi:cli/stdout", "get-stdout") => vec![resource(store, STDOUT)?],
        ("wasi:cli/stderr", "get-stderr") => vec![resource(store, STDERR)?],
        ("wasi:cli/terminal-stdin" | "wasi:cli/terminal-stdout" | "wasi:cli/terminal-stderr", _) => {
            vec![Val::Option(None)]
        }
        ("wasi:filesystem/preopens", "get-directories") => vec![Val::List(Vec::new())],
        ("wasi:filesystem/types", "filesystem-error-code") => vec![Val::Option(None)],
        ("wasi:clocks/monotonic-clock", "now") => {
            vec![Val::U64(u64::try_from(store.data().born.elapsed().as_nanos()).unwrap_or(u64::MAX))]
        }
        ("wasi:clocks/monotonic-clock", "resolution") => vec![Val::U64(1)],
        // To sleep would hold a thread; what waits is ready at once.
        ("wasi:clocks/monotonic-clock", "subscribe-instant" | "subscribe-duration") => vec![resource(store, POLLABLE)?],
        ("wasi:clocks/wall-clock", "now") => vec![datetime(now().as_secs(), now().subsec_nanos())],
        ("wasi:clocks/wall-clock", "resolution") => vec![datetime(0, 1_000_000)],
        ("wasi:random/random", "get-random-u64") | ("wasi:random/insecure", "get-insecure-random-u64") => {
            vec![Val::U64(random_u64()?)]
        }
        ("wasi:random/random", "get-random-bytes") | ("wasi:random/insecure", "get-insecure-random-bytes") => {
            vec![random_bytes(params)?]
        }
        ("wasi:random/insecure-seed", "insecure-seed" | "get-insecure-seed") => {
            vec![Val::Tuple(vec![Val::U64(random_u64()?), Val::U64(random_u64()?)])]
        }
        ("wasi:io/poll", "[method]pollable.ready") => vec![Val::Bool(true)],
        ("wasi:io/poll", "[method]pollable.block") => Vec::new(),
        ("wasi:io/poll", "poll") => vec![all_ready(params)],
        ("wasi:io/error", "[method]error.to-debug-string") => vec![Val::String("closed".to_owned())],
        ("wasi:io/streams", "[method]output-stream.check-write") => vec![ok(Some(Val::U64(WRITE_CAPACITY)))],
        ("wasi:io/streams", "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush") => {
            write(&mut store, params)?;
            vec![ok(None)]
        }
        ("wasi:io/streams", "[method]output-stream.flush" | "[method]output-stream.blocking-flush") => vec![ok(None)],
        ("wasi:io/streams", "[method]output-stream.subscribe" | "[method]input-stream.subscribe") => {
            vec![resource(store, POLLABLE)?]
        }
        // The end of standard input, which was never open.
        ("wasi:io/streams", "[method]input-stream.read" | "[method]input-stream.blocking-read") => {
            let _ = ty;
            vec![Val::Result(Err(Some(Box::new(Val::Variant("closed".to_owned(), None)))))]
        }
        ("wasi:cli/exit", _) => {
            return Err(Halt::Refused("it ended itself (wasi:cli/exit)".to_owned()).into());
        }
        _ => return Ok(None),
    }))
}

fn datetime(seconds: u64, nanoseconds: u32) -> Val {
    Val::Record(vec![("seconds".to_owned(), Val::U64(seconds)), ("nanoseconds".to_owned(), Val::U32(nanoseconds))])
}

fn random(bytes: &mut [u8]) -> wasmtime::Result<()> {
    getrandom::fill(bytes).map_err(|error| Halt::Refused(format!("no random bytes: {error}")).into())
}

fn random_u64() -> wasmtime::Result<u64> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn random_bytes(params: &[Val]) -> wasmtime::Result<Val> {
    let length = match params.first() {
        Some(Val::U64(length)) if *length <= MAX_RANDOM => *length,
        _ => return Err(Halt::Refused(format!("random bytes are given {MAX_RANDOM} at once")).into()),
    };
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    random(&mut bytes)?;
    Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
}

fn all_ready(params: &[Val]) -> Val {
    let count = if let Some(Val::List(list)) = params.first() { list.len() } else { 0 };
    Val::List((0..count).map(|at| Val::U32(u32::try_from(at).unwrap_or_default())).collect())
}

/// Takes what is written to a stream; whole lines go to the log.
fn write(store: &mut StoreContextMut<'_, State>, params: &[Val]) -> wasmtime::Result<()> {
    let [Val::Resource(stream), Val::List(bytes)] = params else { return Ok(()) };
    let is_error = stream.try_into_resource::<Stub>(&mut *store)?.rep() == STDERR;
    let (at, level) = if is_error { (1, "warn") } else { (0, "info") };
    let state = store.data_mut();
    for byte in bytes {
        let Val::U8(byte) = byte else { continue };
        let Some(line) = state.console.lines.get_mut(at) else { continue };
        if *byte != b'\n' {
            line.push(*byte);
        }
        if *byte == b'\n' || line.len() >= MAX_LINE_BYTES {
            let line = std::mem::take(line);
            state.shared.log(state.call.as_ref(), level, &String::from_utf8_lossy(&line), serde_json::Map::new());
        }
    }
    Ok(())
}
