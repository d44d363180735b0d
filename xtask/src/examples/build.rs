//! How each language becomes a component.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::tools::{self, RustForWasm, relative, run};
use crate::{root, target};

const TARGET: &str = "wasm32-unknown-unknown";

fn wit() -> PathBuf {
    root().join("wit")
}

/// A work directory of its own for one component.
fn work(component: &Path) -> anyhow::Result<PathBuf> {
    let dir = component.with_extension("work");
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

/// A crate of the workspace with the SDK. The linker makes the component.
pub(super) fn rust(source: &Path, component: &Path) -> anyhow::Result<()> {
    let package = source.file_name().context("a directory")?.to_string_lossy().into_owned();
    let RustForWasm { rustc, linker, linkers } = tools::rust_for_wasm()?;
    let build = target().join("tools/rust-build");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(linkers).chain(std::env::split_paths(&path)))?;
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(["build", "--quiet", "--locked", "--profile", "component", "--target", TARGET, "--package", &package]);
    command.arg("--target-dir").arg(&build).current_dir(root());
    command.env("RUSTC", rustc).env("PATH", path).env("CARGO_ENCODED_RUSTFLAGS", remapped()?);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    // Set by the cargo that runs this chore, for its own compiler.
    command.env_remove("RUSTC_WRAPPER").env_remove("RUSTFLAGS");
    run(&mut command)?;
    fs::copy(build.join(TARGET).join("component").join(format!("{package}.wasm")), component)?;
    Ok(())
}

/// No path of this machine stands in what is built, so that every machine builds the same.
fn remapped() -> anyhow::Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|user| user.join(".cargo"))).context("no cargo home")?;
    let mut flags = vec![format!("--remap-path-prefix={}=/jackfield", root().display())];
    flags.push(format!("--remap-path-prefix={}=/tools", tools::cache_root()?.display()));
    for registry in fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten() {
        flags.push(format!("--remap-path-prefix={}=/crates", registry.path().display()));
    }
    Ok(flags.join("\u{1f}"))
}

/// `zig cc` compiles what the generator of bindings and the author wrote; no libc is linked that reaches outside.
pub(super) fn c(source: &Path, component: &Path) -> anyhow::Result<()> {
    let work = work(component)?;
    let (bindings, zig) = (tools::wit_bindgen()?, tools::zig()?);
    run(Command::new(bindings).args(["c", "--world", "pure-tool", "--out-dir"]).arg(&work).arg(wit()))?;
    let main = source.join(component.with_extension("c").file_name().context("a name")?);
    let core = work.join("core.wasm");
    let mut command = Command::new(zig.join("ziglang/zig"));
    command.args(["cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-Oz", "-s", "-o"]).arg(&core);
    command.arg(format!("-I{}", work.display())).arg(&main);
    command.arg(work.join("pure_tool.c")).arg(work.join("pure_tool_component_type.o"));
    command.arg("-Wl,--no-entry").env("ZIG_GLOBAL_CACHE_DIR", target().join("tools/zig-cache"));
    command.env("ZIG_LOCAL_CACHE_DIR", work.join("cache"));
    run(&mut command)?;
    finish(&core, component)
}

/// A core module whose author wrote the interface by hand, named as components name it by a script beside it.
pub(super) fn assemblyscript(source: &Path, component: &Path) -> anyhow::Result<()> {
    let work = work(component)?;
    let modules = tools::npm()?;
    let (plain, core) = (work.join("plain.wasm"), work.join("core.wasm"));
    let main = source.join(component.with_extension("ts").file_name().context("a name")?);
    let mut command = Command::new(modules.join(".bin/asc"));
    command.arg(relative(&main)).args(["-Oz", "--runtime", "stub", "--noAssert", "--use", "abort=", "--outFile"]);
    run(command.arg(&plain).current_dir(root()))?;
    let mut command = Command::new("node");
    command.arg(source.join("exports.mjs")).arg(modules.join("binaryen/index.js")).arg(&plain).arg(&core);
    run(&mut command)?;
    embed(&core, &work, component)
}

/// The text form of a core module.
pub(super) fn text(source: &Path, component: &Path) -> anyhow::Result<()> {
    let main = source.join(component.with_extension("wat").file_name().context("a name")?);
    embed(&main, &work(component)?, component)
}

/// QuickJS with the script in its memory.
pub(super) fn javascript(source: &Path, component: &Path) -> anyhow::Result<()> {
    let main = source.join(component.with_extension("js").file_name().context("a name")?);
    let mut command = Command::new(tools::npm()?.join(".bin/componentize-qjs"));
    command.args(["--sync", "--opt-size", "--stub-wasi", "--world", "pure-tool", "--wit"]).arg(wit());
    run(command.arg("--js").arg(main).arg("-o").arg(component))
}

/// CPython with the script in its memory.
pub(super) fn python(source: &Path, component: &Path) -> anyhow::Result<()> {
    let tools = tools::componentize_py()?;
    let module = component.file_stem().context("a name")?;
    let mut command = Command::new(tools.join("bin/componentize-py"));
    command.arg("-d").arg(wit()).args(["-w", "pure-tool", "componentize", "--stub-wasi"]).arg(module);
    command.arg("-o").arg(component).env("PYTHONPATH", &tools).env("PYTHONDONTWRITEBYTECODE", "1");
    run(command.current_dir(source))
}

/// Tells a core module which world it is for, then makes the component.
fn embed(core: &Path, work: &Path, component: &Path) -> anyhow::Result<()> {
    let embedded = work.join("embedded.wasm");
    let mut command = Command::new(tools::wasm_tools()?);
    command.args(["component", "embed", "--world", "pure-tool"]).arg(wit()).arg(core).arg("-o").arg(&embedded);
    run(&mut command)?;
    finish(&embedded, component)
}

fn finish(core: &Path, component: &Path) -> anyhow::Result<()> {
    run(Command::new(tools::wasm_tools()?).args(["component", "new"]).arg(core).arg("-o").arg(component))
}
