//! `cargo xtask bench`: measures the whole path of a tool call against a raw pipe to the same child in the same run, its
//! throughput, what is added between an agent and an MCP server, how it grows with the number of installed extensions, what extensions in TypeScript cost beside real pi,
//! and what WASM components cost beside bare wasmtime.
//!
//! Numbers are reported, never asserted: these machines are noisy. What counts is the ratio to the raw pipe.

mod js;
mod mcp;
mod numbers;
mod path;
mod python;
mod scale;
mod wasm;

use std::path::PathBuf;

use anyhow::Context;

/// A program that was built beside this one.
fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe().context("this program has a path")?;
    let there = here.with_file_name(name);
    anyhow::ensure!(there.is_file(), "{} is missing: run `cargo xtask bench`", there.display());
    Ok(there)
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        // Parts of this benchmark that need a process of their own.
        Some(js::LOAD) => return js::load::child(words),
        Some(js::MEMORY) => return js::memory::child(words),
        Some(js::ENGINE) => {
            jackfield_js::child();
            return Ok(());
        }
        Some(mcp::ONE_CALL) => return mcp::one_call(),
        Some(wasm::CROWD) => return wasm::crowd::child(words),
        Some(wasm::COMPILER) => {
            anyhow::ensure!(jackfield_wasm::child(), "it cannot be compiled");
            return Ok(());
        }
        _ => {}
    }
    let only: Vec<String> = std::env::args().skip(1).collect();
    let only = only.get(..1).unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| word == name);
    if wanted("path") {
        path::measure()?;
    }
    if wanted("mcp") {
        mcp::measure()?;
    }
    if wanted("scale") {
        scale::measure()?;
    }
    if wanted("python") {
        python::measure()?;
    }
    if wanted("js") {
        js::measure()?;
    }
    if wanted("wasm") {
        wasm::measure()?;
    }
    Ok(())
}
