//! What script throws, and what is thrown at it.

use rquickjs::{CaughtError, Ctx, Value as Js};

use super::State;
use crate::messages::Thrown;
use crate::{raw, stack};

/// What the engine says when its memory has run out.
const OUT_OF_MEMORY: &str = "out of memory";

impl State {
    pub(super) fn caught(&self, cx: &Ctx<'_>, error: CaughtError<'_>) -> Thrown {
        match error {
            CaughtError::Exception(exception) => self.thrown(cx, exception.into_value()),
            CaughtError::Value(value) => self.thrown(cx, value),
            CaughtError::Error(error) => Thrown { message: error.to_string(), ..Thrown::default() },
        }
    }

    /// A thrown value in words, with places in the files as their author knows them.
    pub(super) fn thrown(&self, cx: &Ctx<'_>, value: Js<'_>) -> Thrown {
        self.mapped(self.thrown_as_it_is(cx, &value))
    }

    pub(super) fn thrown_as_it_is(&self, cx: &Ctx<'_>, value: &Js<'_>) -> Thrown {
        let field = |name: &str| {
            value
                .as_object()
                .and_then(|object| object.get::<_, Option<String>>(name).ok().flatten())
                .unwrap_or_default()
        };
        if value.is_object() {
            let code = Some(field("code")).filter(|code| !code.is_empty());
            let mut thrown = Thrown { name: field("name"), message: field("message"), stack: field("stack"), code };
            // An error for which there was room, and none for what it says.
            if thrown.name == "InternalError" && thrown.message.is_empty() && raw::was_full(cx, self.memory) {
                OUT_OF_MEMORY.clone_into(&mut thrown.message);
            }
            thrown
        } else if value.is_null() && raw::was_full(cx, self.memory) {
            // What the engine throws when not even an error fits into memory.
            Thrown { name: "InternalError".to_owned(), message: OUT_OF_MEMORY.to_owned(), ..Thrown::default() }
        } else {
            let message = value.as_string().and_then(|text| text.to_string().ok());
            Thrown { message: message.unwrap_or_else(|| plain(value)), ..Thrown::default() }
        }
    }

    pub(super) fn mapped(&self, mut thrown: Thrown) -> Thrown {
        thrown.stack = stack::mapped(&thrown.stack, &self.sources.borrow());
        thrown
    }
}

/// Cuts a text between characters.
pub(super) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
    }
}

/// A value that is neither an object nor text, as script would write it.
fn plain(value: &Js<'_>) -> String {
    match (value.as_bool(), value.as_number()) {
        (Some(value), _) => value.to_string(),
        (_, Some(number)) => number.to_string(),
        _ => value.type_name().to_owned(),
    }
}

/// Throws an error with a code, as Node does.
pub(crate) fn throw(cx: &Ctx<'_>, message: &str, code: &str) -> rquickjs::Error {
    let made = rquickjs::Exception::from_message(cx.clone(), message).and_then(|exception| {
        exception.as_object().set("code", code)?;
        Ok(exception)
    });
    match made {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}

pub(super) fn throw_syntax(cx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    rquickjs::Exception::throw_syntax(cx, message)
}

pub(super) fn is_out_of_memory(thrown: &Thrown) -> bool {
    thrown.name == "InternalError" && thrown.message == OUT_OF_MEMORY
}
