//! Computation that script is better off asking for: text, hashes, compression, URLs, dates. None of it reaches anything
//! outside the engine.

mod args;
mod crypto;
mod dates;
mod places;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Instant;

use rquickjs::{Ctx, Result, Value as Js};

use self::args::Args;
use crate::isolate::throw;
use crate::values;

/// The natives of one extension, with what they keep between calls. Made once the extension is known, so that no two
/// extensions share a clock or a seed.
pub(crate) struct Natives {
    born: Instant,
    hashes: RefCell<HashMap<u32, crypto::Running>>,
    next: Cell<u32>,
    random: Cell<u64>,
}

/// Why a native did not answer: a message and Node's code for it.
type Refusal = (String, &'static str);

impl Default for Natives {
    fn default() -> Self {
        let random = Cell::new(getrandom::u64().unwrap_or(1));
        Self { born: Instant::now(), hashes: RefCell::default(), next: Cell::default(), random }
    }
}

impl Natives {
    /// The next number for `Math.random`, from zero up to one: SplitMix64.
    pub(crate) fn random(&self) -> f64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Calls a native by its name. Reading its arguments may run script, which may call another.
    pub(crate) fn call<'js>(&self, cx: &Ctx<'js>, name: &str, args: &[Js<'js>]) -> Result<Js<'js>> {
        let args = Args { cx, args };
        let uptime = || (name == "uptime").then(|| Ok(NativeValue::Number(self.born.elapsed().as_secs_f64())));
        let answer = text::call(name, &args)
            .or_else(|| crypto::call(self, name, &args))
            .or_else(|| places::call(name, &args))
            .or_else(|| dates::call(name, &args))
            .or_else(uptime);
        match answer {
            Some(Ok(value)) => value.into_js(cx),
            Some(Err((message, code))) => Err(throw(cx, &message, code)),
            None => Err(throw(cx, &format!("the host has no native `{name}`"), "ERR_JACKFIELD_UNSUPPORTED")),
        }
    }
}

/// What a native answers.
enum NativeValue {
    Bytes(Vec<u8>),
    Text(String),
    Number(f64),
    Json(serde_json::Value),
    Nothing,
}

type Native = Option<std::result::Result<NativeValue, Refusal>>;

impl NativeValue {
    fn into_js<'js>(self, cx: &Ctx<'js>) -> Result<Js<'js>> {
        use rquickjs::IntoJs as _;
        match self {
            Self::Bytes(bytes) => values::to_bytes(cx, &bytes).map(rquickjs::TypedArray::into_value),
            Self::Text(text) => text.into_js(cx),
            Self::Number(number) => Ok(Js::new_number(cx.clone(), number)),
            Self::Json(value) => cx.json_parse(value.to_string()),
            Self::Nothing => Ok(Js::new_undefined(cx.clone())),
        }
    }
}
