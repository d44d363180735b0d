//! What script is handed: the natives that `lib/boot.js` gets, and nobody else.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::function::{Opt, Rest};
use rquickjs::{Array, CatchResultExt as _, Ctx, Function, Object, Result, Value as Js};

use super::thrown::{cut, is_out_of_memory, throw};
use super::{LONGEST_LINE, START, State};
use crate::messages::ToHost;
use crate::resolve::Ask;
use crate::{raw, values};

/// The extension that an engine works for. An engine evaluates the library before it knows its extension, so its natives
/// look here for each call.
pub(super) type Current = Rc<RefCell<Rc<State>>>;

/// The natives of an engine, by name.
#[allow(clippy::too_many_lines, reason = "a table: one line or two per native")]
pub(super) fn install<'js>(cx: &Ctx<'js>, current: &Current) -> Result<Object<'js>> {
    let natives = Object::new(cx.clone())?;
    macro_rules! native {
        ($name:literal, |$state:ident, $cx:ident $(, $arg:ident : $type:ty)*| $body:expr) => {{
            let current = Rc::clone(current);
            let native = move |$cx: Ctx<'js> $(, $arg: $type)*| -> Result<Js<'js>> {
                let $state = Rc::clone(&current.borrow());
                $body
            };
            natives.set($name, Function::new(cx.clone(), native)?)?;
        }};
    }
    native!("timerAdd", |state, cx, ms: f64| Ok(number(&cx, state.event_loop.borrow_mut().add_timer(ms))));
    native!("immediateAdd", |state, cx| Ok(number(&cx, state.event_loop.borrow_mut().add_immediate())));
    native!("timerDrop", |state, cx, id: f64| {
        state.event_loop.borrow_mut().drop_timer(id as u64);
        undefined(&cx)
    });
    native!("hostCall", |state, cx, method: String, params: Js<'js>, stream: bool, timeout: Opt<Js<'js>>| {
        let params = values::to_json(&cx, params)?;
        let id = state.event_loop.borrow_mut().number();
        let timeout_ms = timeout.0.and_then(|value| value.as_number()).map(|ms| ms.max(0.0) as u64);
        (state.out)(ToHost::HostCall { id, method, params, stream, timeout_ms });
        Ok(number(&cx, id))
    });
    native!("hostCallSync", |state, cx, method: String, params: Js<'js>| {
        let params = values::to_json(&cx, params)?;
        let outcome = state.call_and_wait(method, params);
        state.told(&cx, outcome)
    });
    native!("hostInput", |state, cx, id: f64, value: Js<'js>| {
        let value = values::to_json(&cx, value)?;
        (state.out)(ToHost::HostInput { id: id as u64, value });
        undefined(&cx)
    });
    native!("hostCancel", |state, cx, id: f64| {
        (state.out)(ToHost::HostCancel { id: id as u64 });
        undefined(&cx)
    });
    native!("reply", |state, cx, id: f64, ok: bool, value: Js<'js>| {
        state.reply(&cx, id as u64, ok, value);
        undefined(&cx)
    });
    native!("resolve", |state, cx, specifier: String, parent: String, ask: String| {
        let ask = if ask == "require" { Ask::Require } else { Ask::Import };
        let found = state.resolution.borrow_mut().resolve(&specifier, &parent, ask);
        match found {
            Ok(path) => Ok(rquickjs::String::from_str(cx, &path)?.into_value()),
            Err(message) => Err(throw(&cx, &message, "MODULE_NOT_FOUND")),
        }
    });
    native!("load", |state, cx, path: String| state.load(&cx, &path));
    native!("loadLib", |state, cx, path: String| state.load_library(&cx, &path));
    native!("giveLate", |_state, cx, names: Array<'js>, make: Function<'js>| {
        raw::give_late(&cx, &names, &make)?;
        undefined(&cx)
    });
    native!("native", |state, cx, name: String, args: Rest<Js<'js>>| state.native(&cx, &name, args.0));
    native!("builtins", |state, cx| rquickjs::IntoJs::into_js(state.library.builtins(), &cx));
    Ok(natives)
}

/// Replaces `Math.random`. QuickJS seeds its own from the clock when it makes the context, and offers no way to seed it
/// again; extensions that share a prepared engine would draw the same numbers.
pub(super) fn replace_random<'js>(cx: &Ctx<'js>, current: &Current) -> Result<()> {
    let current = Rc::clone(current);
    let random = Function::new(cx.clone(), move || current.borrow().natives.random())?.with_name("random")?;
    cx.globals().get::<_, Object<'js>>("Math")?.set("random", random)
}

impl State {
    fn reply<'js>(self: &Rc<Self>, cx: &Ctx<'js>, id: u64, ok: bool, value: Js<'js>) {
        // Whoever waits is told why it ended.
        if self.guard.is_stopped() {
            return;
        }
        let outcome = if ok { values::to_json(cx, value) } else { Ok(values::to_json(cx, value).unwrap_or_default()) };
        let outcome = match outcome.catch(cx) {
            Ok(value) if ok => Ok(value),
            Ok(value) => Err(self.mapped(serde_json::from_value(value).unwrap_or_default())),
            // For instance a BigInt or a cycle in what an extension answered.
            Err(error) => Err(self.caught(cx, error)),
        };
        if outcome.as_ref().is_err_and(is_out_of_memory) {
            self.ran_out();
        }
        if id == START {
            (self.out)(ToHost::Loaded(self.loaded.take()));
        }
        (self.out)(ToHost::Reply { id, outcome });
    }

    /// Natives that concern this engine and not only their arguments.
    fn native<'js>(self: &Rc<Self>, cx: &Ctx<'js>, name: &str, args: Vec<Js<'js>>) -> Result<Js<'js>> {
        let text = |at: usize| {
            args.get(at).and_then(|value| value.as_string()).and_then(|text| text.to_string().ok()).unwrap_or_default()
        };
        match name {
            "console" => {
                let mut message = text(1);
                cut(&mut message, LONGEST_LINE);
                (self.out)(ToHost::Log { level: text(0), message });
            }
            "progress" => (self.out)(ToHost::Progress { call_id: text(0), message: text(1) }),
            "contribute" => {
                let contributions =
                    args.first().cloned().map(|value| values::to_json(cx, value)).transpose()?.unwrap_or_default();
                (self.out)(ToHost::Contribute { contributions });
            }
            "exit" => {
                *self.exit.borrow_mut() = Some(text(0));
                self.guard.stop(text(0));
            }
            "tick" => self.ticks.set(true),
            "ran_out" => {
                let thrown = args.first().cloned().filter(|value| value.is_null() || value.is_error());
                let ran_out = thrown.is_some_and(|value| is_out_of_memory(&self.thrown(cx, value)));
                if ran_out {
                    self.ran_out();
                }
                return Ok(Js::new_bool(cx.clone(), ran_out));
            }
            "kind" => {
                let kind = args.first().map_or("undefined", |value| match value {
                    value if value.is_proxy() => "proxy",
                    value if value.is_promise() => "promise",
                    _ => "other",
                });
                return Ok(rquickjs::String::from_str(cx.clone(), kind)?.into_value());
            }
            "promise_state" => {
                let Some(promise) = args.first().and_then(|value| value.as_promise()) else {
                    return Ok(Js::new_undefined(cx.clone()));
                };
                let (state, value) = match promise.result::<Js<'js>>() {
                    None => ("pending", Js::new_undefined(cx.clone())),
                    Some(Ok(value)) => ("fulfilled", value),
                    Some(Err(_)) => ("rejected", cx.catch()),
                };
                let told = rquickjs::Array::new(cx.clone())?;
                told.set(0, state)?;
                told.set(1, value)?;
                return Ok(told.into_value());
            }
            _ => return self.natives.call(cx, name, &args),
        }
        Ok(Js::new_undefined(cx.clone()))
    }
}

fn number<'js>(cx: &Ctx<'js>, number: u64) -> Js<'js> {
    Js::new_number(cx.clone(), number as f64)
}

fn undefined<'js>(cx: &Ctx<'js>) -> Result<Js<'js>> {
    Ok(Js::new_undefined(cx.clone()))
}
