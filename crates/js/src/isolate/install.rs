//! What script is handed: the natives that `lib/boot.js` gets, and nobody else.

use std::rc::Rc;

use rquickjs::{Array, CatchResultExt as _, Ctx, Function, Object, Result, Value as Js};

use super::thrown::{cut, is_out_of_memory, throw};
use super::{LONGEST_LINE, START, State};
use crate::messages::ToHost;
use crate::raw::{Given, Native};
use crate::resolve::Ask;
use crate::{raw, values};

/// A native with its arguments as what they have to be.
macro_rules! native {
    ($name:literal, |$state:ident, $cx:ident $(, $arg:ident : $type:ty)*| $body:expr) => {
        ($name, |$state, $cx, mut _given| {
            $(let $arg: $type = _given.next()?;)*
            $body
        })
    };
}

/// What `lib/boot.js` gets, by name. One line or two per native.
const NATIVES: &[(&str, Native)] = &[
    native!("timerAdd", |state, cx, ms: f64| Ok(number(cx, state.agenda.borrow_mut().add_timer(ms)))),
    native!("immediateAdd", |state, cx| Ok(number(cx, state.agenda.borrow_mut().add_immediate()))),
    native!("timerDrop", |state, cx, id: f64| {
        state.agenda.borrow_mut().drop_timer(id as u64);
        undefined(cx)
    }),
    native!("hostCall", |state, cx, method: String, params: Js<'_>, stream: bool, timeout: Js<'_>| {
        let params = values::to_json(cx, params)?;
        let id = state.agenda.borrow_mut().number();
        let timeout_ms = timeout.as_number().map(|ms| ms.max(0.0) as u64);
        (state.out)(ToHost::HostCall { id, method, params, stream, timeout_ms });
        Ok(number(cx, id))
    }),
    native!("hostCallSync", |state, cx, method: String, params: Js<'_>| {
        let params = values::to_json(cx, params)?;
        let outcome = state.call_and_wait(method, params);
        state.told(cx, outcome)
    }),
    native!("hostInput", |state, cx, id: f64, value: Js<'_>| {
        let value = values::to_json(cx, value)?;
        (state.out)(ToHost::HostInput { id: id as u64, value });
        undefined(cx)
    }),
    native!("hostCancel", |state, cx, id: f64| {
        (state.out)(ToHost::HostCancel { id: id as u64 });
        undefined(cx)
    }),
    native!("reply", |state, cx, id: f64, ok: bool, value: Js<'_>| {
        state.reply(cx, id as u64, ok, value);
        undefined(cx)
    }),
    native!("resolve", |state, cx, specifier: String, parent: String, ask: String| {
        let ask = if ask == "require" { Ask::Require } else { Ask::Import };
        let found = state.resolution.borrow_mut().resolve(&specifier, &parent, ask);
        if let Some(rehearsal) = &state.rehearsal {
            rehearsal.resolved(&specifier, &parent, ask, found.as_deref().ok());
        }
        match found {
            Ok(path) => Ok(rquickjs::String::from_str(cx.clone(), &path)?.into_value()),
            Err(message) => Err(throw(cx, &message, "MODULE_NOT_FOUND")),
        }
    }),
    native!("load", |state, cx, path: String| state.load(cx, &path)),
    native!("loadLib", |state, cx, path: String| state.load_library(cx, &path)),
    native!("giveLate", |_state, cx, names: Array<'_>, make: Function<'_>| {
        raw::give_late(cx, &names, &make)?;
        undefined(cx)
    }),
    ("native", |state, cx, mut given| {
        let name: String = given.next()?;
        state.native(cx, &name, given.rest())
    }),
    native!("builtins", |state, cx| rquickjs::IntoJs::into_js(state.library.builtins(), cx)),
];

/// Calls the native with this number for the engine that asks.
pub(crate) fn call<'js>(state: &Rc<State>, cx: &Ctx<'js>, at: usize, given: Given<'_, 'js>) -> Result<Js<'js>> {
    match NATIVES.get(at) {
        Some((name, _)) if !state.may_call(name) => {
            state.spoil();
            Err(throw(cx, "nothing is there in a rehearsal", "ERR_JACKFIELD_REHEARSAL"))
        }
        Some((_, native)) => native(state, cx, given),
        None => undefined(cx),
    }
}

impl State {
    /// The natives of this engine. They keep nothing of it, so that they are the same in a copy of it.
    pub(super) fn install<'js>(cx: &Ctx<'js>) -> Result<Object<'js>> {
        let natives = Object::new(cx.clone())?;
        for (at, (name, _)) in NATIVES.iter().enumerate() {
            natives.set(*name, raw::native(cx, at)?)?;
        }
        Ok(natives)
    }

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
            let loaded = self.loaded.take();
            // What had to be compiled has cost enough for one start.
            if let Some(setup) = self.proposal.take().filter(|_| loaded.compiled == 0) {
                super::rehearsal::propose(*setup, outcome.clone(), &self.cache);
            }
            (self.out)(ToHost::Loaded(loaded));
        }
        (self.out)(ToHost::Reply { id, outcome });
    }

    /// Natives that concern this engine and not only their arguments.
    fn native<'js>(self: &Rc<Self>, cx: &Ctx<'js>, name: &str, args: Vec<Js<'js>>) -> Result<Js<'js>> {
        let text = |at: usize| {
            args.get(at).and_then(|value| value.as_string()).and_then(|text| text.to_string().ok()).unwrap_or_default()
        };
        if !self.may_compute(name) {
            self.spoil();
            return Err(throw(cx, "nothing is there in a rehearsal", "ERR_JACKFIELD_REHEARSAL"));
        }
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
            "see" => return values::to_js(cx, self.see(&text(0))),
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
