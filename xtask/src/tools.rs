//! Third-party tools, installed into the user's cache folder from the package registries that this machine uses.
//!
//! Each version is installed once for all clones. `target/tools/NAME` links to it. Nothing is installed into the system.

mod cache;
mod debian;
mod servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::{root, setup, target};

pub(crate) use cache::{link, lock, once, root as cache_root};
pub(crate) use debian::{RustForWasm, rust_for_wasm};
pub(crate) use servers::mcp_servers;

const WIT_BINDGEN: &str = "0.61.1";
const WASM_TOOLS: &str = "1.258.3";
const COMPONENTIZE_QJS: &str = "0.4.5";
const ASSEMBLYSCRIPT: &str = "0.28.20";
const COMPONENTIZE_PY: &str = "0.25.1";
const SCHEMATHESIS: &str = "4.32.5";
const ZIG: &str = "0.17.0";

/// The generator of C bindings.
pub(crate) fn wit_bindgen() -> anyhow::Result<PathBuf> {
    cargo_program("wit-bindgen-cli", WIT_BINDGEN, "c", "wit-bindgen")
}

/// What makes a component of a core module.
pub(crate) fn wasm_tools() -> anyhow::Result<PathBuf> {
    cargo_program("wasm-tools", WASM_TOOLS, "component", "wasm-tools")
}

/// The programs of npm's packages: `componentize-qjs` and `asc`.
pub(crate) fn npm() -> anyhow::Result<PathBuf> {
    let packages = [format!("componentize-qjs@{COMPONENTIZE_QJS}"), format!("assemblyscript@{ASSEMBLYSCRIPT}")];
    npm_packages("npm", &packages)
}

/// The `node_modules` of a directory `name` of tools that holds these packages of npm.
pub(crate) fn npm_packages(name: &str, packages: &[String]) -> anyhow::Result<PathBuf> {
    let dir = once(name, &packages.join(" "), |dir| {
        fs::write(dir.join("package.json"), "{\"private\":true}")?;
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--prefix"]);
        run(command.arg(dir).args(packages).current_dir(dir))
    })?;
    Ok(dir.join("node_modules"))
}

/// The real pi, in the versions that the bridge is tested with: the name of the tool, and the package.
const PIS: [(&str, &str); 2] = [
    ("pi-mariozechner", "@mariozechner/pi-coding-agent@0.73.1"),
    ("pi-earendil", "@earendil-works/pi-coding-agent@0.74.2"),
];

/// Installs the versions of pi that the tests start.
pub(crate) fn pis() -> anyhow::Result<()> {
    for (name, package) in PIS {
        once(name, package, |dir| {
            fs::write(dir.join("package.json"), "{\"private\":true}")?;
            let mut command = Command::new("npm");
            command.args(["install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]);
            command.args(["--no-update-notifier", "--loglevel=error", "--prefix"]);
            run(command.arg(dir).arg(package).current_dir(dir))
        })?;
    }
    Ok(())
}

/// The directory that holds Python's `componentize-py`.
pub(crate) fn componentize_py() -> anyhow::Result<PathBuf> {
    pip("componentize-py", COMPONENTIZE_PY)
}

/// The directory that holds zig, whose `zig cc` compiles C.
pub(crate) fn zig() -> anyhow::Result<PathBuf> {
    pip("ziglang", ZIG)
}

/// What makes requests of an OpenAPI document.
pub(crate) fn schemathesis() -> anyhow::Result<PathBuf> {
    let dir = python_environment("schemathesis", &[&format!("schemathesis=={SCHEMATHESIS}")])?;
    Ok(dir.join("bin/schemathesis"))
}

/// A virtual environment of Python with these packages.
pub(crate) fn python_environment(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    once(name, &format!("{} {}", python_version()?, packages.join(" ")), |dir| {
        let venv = || run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(dir));
        if venv().is_err() {
            // Debian ships the module in a package of its own.
            setup::python_venv()?;
            venv()?;
        }
        let mut command = Command::new(dir.join("bin/python3"));
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        run(command.args(packages))
    })
}

/// Part of every version that Python installs, because another Python cannot use the same files.
fn python_version() -> anyhow::Result<String> {
    let script = "import sys; print('py%d.%d' % sys.version_info[:2])";
    let said = output(Command::new("python3").args(["-c", script]))?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

fn pip(package: &str, version: &str) -> anyhow::Result<PathBuf> {
    once(package, &format!("{version}-{}", python_version()?), |dir| {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target"]);
        run(command.arg(dir).arg(format!("{package}=={version}")))
    })
}

fn cargo_program(package: &str, version: &str, features: &str, program: &str) -> anyhow::Result<PathBuf> {
    let dir = once(package, &format!("{version} {features}"), |dir| {
        let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        command.args(["install", "--quiet", "--debug", "--locked", "--no-default-features", "--features", features]);
        command.arg("--version").arg(version).arg("--root").arg(dir);
        // Both share most of what they are made of.
        command.arg("--target-dir").arg(target().join("tools/build")).arg(package);
        run(&mut command)
    })?;
    Ok(dir.join("bin").join(program))
}

/// Runs a command in silence; what it said is shown when it fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    output(command).map(|_| ())
}

/// As [`run`], and gives what it wrote to standard output.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}; is it installed?"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{program} failed ({}):\n{}", output.status, String::from_utf8_lossy(&said));
    }
    Ok(output.stdout)
}

/// A path relative to the repository, for commands that write paths into what they make.
pub(crate) fn relative(path: &Path) -> PathBuf {
    path.strip_prefix(root()).unwrap_or(path).to_path_buf()
}
