//! Write an extension in Rust once, and build it as a program that speaks frames over standard input and output, or as a
//! WASM component.
//!
//! It holds no policy and opens nothing itself: what is outside is asked of the host, which judges it. Nor does it know how
//! a host works: a component is linked against `wit/`, a program speaks the lines that docs/extensions.md describes.
//!
//! ```
//! use jackfield_sdk::{Args, Extension, Result, json};
//!
//! fn shout(args: &Args) -> Result<String> {
//!     Ok(args.text("text")?.to_uppercase())
//! }
//!
//! # let _: fn() -> Extension = || {
//! Extension::new("shout", "0.1.0").tool(
//!     "shout",
//!     "Says a text loudly.",
//!     json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }),
//!     shout,
//! )
//! # };
//! ```
//!
//! In a `main.rs` of its own the last expression stands in [`extension!`].

mod answer;
mod define;
pub mod host;
#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasm;

#[cfg(not(target_family = "wasm"))]
use native as backend;
#[cfg(target_family = "wasm")]
use wasm as backend;

pub use answer::{Answer, Args, Block, Error, Reply, Result, Verdict};
pub use define::{Extension, ToolUse};
pub use serde_json::{self, Value, json};

/// Makes an extension of an expression that gives an [`Extension`]: the whole of a `main.rs` but for its functions.
#[macro_export]
macro_rules! extension {
    ($definition:expr) => {
        fn __definition() -> $crate::Extension {
            $definition
        }

        fn main() {
            $crate::__run(__definition);
        }

        $crate::__component!(__definition);
    };
}

/// A program serves until its input ends; a component is called by its host instead.
#[doc(hidden)]
pub fn __run(definition: fn() -> Extension) {
    backend::run(definition);
}

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub use wasm::{__Component, __export, bindings as __bindings};

/// The exports of a component, which must stand in the crate that becomes one.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __component {
    ($definition:ident) => {
        struct __Defined;
        impl $crate::__Component for __Defined {
            fn with<T>(work: impl FnOnce(&$crate::Extension) -> T) -> T {
                ::std::thread_local! {
                    static EXTENSION: $crate::Extension = $definition();
                }
                EXTENSION.with(work)
            }
        }
        $crate::__export!(__Defined with_types_in $crate::__bindings);
    };
}

/// A program has none.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __component {
    ($definition:ident) => {};
}
