//! The one module with `unsafe`: making compiled code runnable.
//!
//! Native code does whatever it says, so wasmtime leaves it to the caller to know where it comes from. Here it comes from
//! one of two places only: the compiler, in this process or a child that this host started, or a sealed folder, whose
//! keyed hash was checked over the very bytes that are given here. Both are within the same user's powers as this process.

#![allow(unsafe_code, reason = "see above")]

use wasmtime::Engine;
use wasmtime::component::Component;

/// Native code whose origin is known. Made only by those who know it.
pub(crate) struct Trusted<'a>(&'a [u8]);

impl<'a> Trusted<'a> {
    /// Code that the compiler of this host has just made.
    pub(crate) fn compiled(code: &'a [u8]) -> Self {
        Self(code)
    }

    /// Code that a sealed folder has authenticated.
    pub(crate) fn sealed(code: &'a jackfield_runtime::Sealed) -> Self {
        Self(code)
    }
}

/// Makes code runnable. Code of another version of the engine, or for other settings, is refused.
pub(crate) fn load(engine: &Engine, code: &Trusted<'_>) -> wasmtime::Result<Component> {
    // SAFETY: `Trusted` is made of nothing but what wasmtime's own `precompile_component` wrote, unchanged.
    unsafe { Component::deserialize(engine, code.0) }
}
