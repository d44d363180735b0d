//! The JSON of what is plainly data, without writing it as text and reading that again: most of what passes is small and plain,
//! and the text cost more than all the rest of an answer.

use rquickjs::atom::PredefinedAtom;
use rquickjs::object::Filter;
use rquickjs::{Atom, Ctx, Object, Result, Value as Js};
use serde_json::{Map, Number, Value};

use crate::raw;

/// Values and names that are looked at before it is called large.
const MAX_NODES: u32 = 1000;
/// Bytes of text that are copied before it is called large.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// How deep it is looked into. What refers to itself is deeper than that.
const MAX_DEPTH: u32 = 32;
/// Integers up to here are what they look like.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// What a value is in JSON.
enum Found {
    Json(Value),
    /// Left out of objects, `null` in lists.
    Nothing,
    /// It is large, or not plain: `JSON.stringify` knows.
    Unsaid,
}

/// What `JSON.stringify` would make of a value, where that can be told at a glance; nothing where it cannot.
///
/// # Errors
/// What a getter threw.
pub(super) fn json_of<'js>(cx: &Ctx<'js>, value: &Js<'js>) -> Result<Option<Value>> {
    let mut look = Look { nodes: MAX_NODES, bytes: MAX_TEXT_BYTES };
    Ok(match look.at(cx, value, MAX_DEPTH)? {
        Found::Json(value) => Some(value),
        Found::Nothing | Found::Unsaid => None,
    })
}

struct Look {
    nodes: u32,
    bytes: usize,
}

impl Look {
    fn at<'js>(&mut self, cx: &Ctx<'js>, value: &Js<'js>, depth: u32) -> Result<Found> {
        let Some(left) = self.nodes.checked_sub(1) else { return Ok(Found::Unsaid) };
        self.nodes = left;
        Ok(if let Some(text) = value.as_string() {
            // Half a character is for the other way.
            match text.to_string() {
                Ok(text) if self.takes(&text) => Found::Json(Value::String(text)),
                _ => Found::Unsaid,
            }
        } else if let Some(number) = value.as_int() {
            Found::Json(number.into())
        } else if let Some(number) = value.as_float() {
            number_of(number)
        } else if let Some(yes) = value.as_bool() {
            Found::Json(yes.into())
        } else if value.is_null() {
            Found::Json(Value::Null)
        } else if value.is_undefined() || value.is_symbol() || value.is_function() {
            Found::Nothing
        } else if let (Some(object), Some(depth)) = (value.as_object(), depth.checked_sub(1)) {
            if value.is_proxy() || object.get::<_, Js>(PredefinedAtom::ToJSON)?.is_function() {
                Found::Unsaid
            } else if let Some(list) = object.as_array() {
                let mut values = Vec::new();
                for at in 0..list.len() {
                    match self.at(cx, &list.get(at)?, depth)? {
                        Found::Json(value) => values.push(value),
                        Found::Nothing => values.push(Value::Null),
                        Found::Unsaid => return Ok(Found::Unsaid),
                    }
                }
                Found::Json(Value::Array(values))
            } else if raw::is_plain_object(value) {
                self.members(cx, object, depth)?
            } else {
                Found::Unsaid
            }
        } else {
            Found::Unsaid
        })
    }

    fn members<'js>(&mut self, cx: &Ctx<'js>, object: &Object<'js>, depth: u32) -> Result<Found> {
        let names = object.own_keys::<Atom>(Filter::default());
        let mut members = Map::with_capacity(names.len().min(MAX_NODES as usize));
        for name in names {
            let name = name?;
            let value = object.get::<_, Js>(name.clone())?;
            // As a value first: the short way ends at a NUL and takes half a character for a whole one.
            match (self.at(cx, &value, depth)?, name.to_js_string()?.to_string()) {
                (Found::Json(value), Ok(name)) if self.takes(&name) => _ = members.insert(name, value),
                (Found::Nothing, Ok(_)) => {}
                _ => return Ok(Found::Unsaid),
            }
        }
        Ok(Found::Json(Value::Object(members)))
    }

    /// Whether there is room for a text.
    fn takes(&mut self, text: &str) -> bool {
        match self.bytes.checked_sub(text.len()) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => false,
        }
    }
}

fn number_of(number: f64) -> Found {
    if !number.is_finite() {
        Found::Json(Value::Null)
    } else if number.fract() != 0.0 {
        Number::from_f64(number).map_or(Found::Unsaid, |number| Found::Json(Value::Number(number)))
    } else if number.abs() <= EXACT {
        Found::Json((number as i64).into())
    } else {
        Found::Unsaid
    }
}

#[cfg(test)]
mod tests {
    use rquickjs::{CatchResultExt as _, Context, Runtime};

    use super::*;

    fn both(source: &str) -> (Option<Value>, Option<Value>) {
        let runtime = Runtime::new().expect("an engine");
        let context = Context::full(&runtime).expect("a context");
        context.with(|cx| {
            let value: Js = cx.eval(format!("({source})")).catch(&cx).expect("a value");
            let ours = json_of(&cx, &value).ok().flatten();
            let text = cx.json_stringify(value).catch(&cx).ok().flatten();
            let text = text.and_then(|text| text.to_string().ok());
            (ours, text.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    #[test]
    fn what_is_plain_is_what_the_engine_says() {
        for source in [
            "{}",
            "[]",
            "{ content: [{ type: 'text', text: 'hello' }], details: {} }",
            "{ b: 1, a: [true, null, -0, 1.5, 1e-300 / 7, 0.1 + 0.2, NaN, -Infinity], 7: 'x', 2: 'y' }",
            "{ none: undefined, method() {}, [Symbol('s')]: 1, list: [undefined, () => 1, Symbol('t')] }",
            "[9007199254740991, -9007199254740991, 4294967296, 2147483648]",
            "{ 'ü \\u0000 \\n \"': '\\ud83d\\ude00', __proto__: { inherited: 1 } }",
            "JSON.parse('{\"__proto__\": 1, \"constructor\": 2}')",
            "Object.create(null)",
            "new (class Point { x = 1; get y() { return 2; } })",
            "{ get x() { return 3; } }",
            "Object.defineProperty({ a: 1 }, 'hidden', { value: 2, enumerable: false })",
            "[, 1, ,]",
            "'text'",
            "null",
            "12",
        ] {
            let (ours, theirs) = both(source);
            assert!(ours.is_some(), "{source} is plain");
            assert_eq!(ours, theirs, "{source}");
            let order = |value: Option<Value>| value.map(|value| value.to_string());
            assert_eq!(order(ours), order(theirs), "{source}");
        }
    }

    #[test]
    fn what_is_not_is_left_to_the_engine() {
        for source in [
            "new Date(0)",
            "{ toJSON() { return 1; } }",
            "{ inner: { toJSON: () => 1 } }",
            "new Number(1)",
            "[new String('x')]",
            "new Proxy({}, {})",
            "new Proxy([], {})",
            "new Uint8Array(3)",
            "new Map([[1, 2]])",
            "10n",
            "{ lone: '\\ud800' }",
            "{ '\\udc00': 1 }",
            "9007199254740993",
            "1e21",
            "(() => { const a = {}; a.a = a; return a; })()",
            "Array(5000)",
            "'x'.repeat(100000)",
            "undefined",
            "() => 1",
        ] {
            assert_eq!(both(source).0, None, "{source}");
        }
    }

    #[test]
    fn what_a_getter_throws_is_thrown() {
        let runtime = Runtime::new().expect("an engine");
        let context = Context::full(&runtime).expect("a context");
        context.with(|cx| {
            let value: Js = cx.eval("({ get x() { throw new Error('no'); } })").expect("a value");
            assert!(json_of(&cx, &value).catch(&cx).is_err());
        });
    }
}
