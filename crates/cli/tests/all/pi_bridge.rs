//! The bridge into pi, with the real pi in two versions: what it offers, what it calls, what goes wrong, and what is left when
//! it is taken away. A model and, where a test needs a gateway that misbehaves, a gateway stand on loopback.

mod connected;
mod files;
mod gateways;
mod runtimes;
mod support;
mod tools;
