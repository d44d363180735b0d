//! Rust for WASM: Debian packages a standard library for `wasm32-unknown-unknown` together with the compiler that fits it.
//! Both are unpacked into the cache of tools, with the C library that they were built for, so that they run on whatever
//! Debian or relative this is. The linker is the one of the Rust that builds jackfield.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::{once, output, run};

/// One release for all, so that all make the same components.
const RELEASE: &str = "trixie";

/// The compiler, its libraries, and what these need.
const PACKAGES: [&str; 19] = [
    "rustc",
    "libstd-rust-dev",
    "libstd-rust-1.85",
    "libstd-rust-dev-wasm32",
    "libllvm19",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libedit2",
    "libffi8",
    "libxml2",
    "libicu76",
    "liblzma5",
    "libz3-4",
    "libzstd1",
    "zlib1g",
    "libbsd0",
    "libmd0",
    "libtinfo6",
];

/// What builds a Rust crate as a component.
pub(crate) struct RustForWasm {
    /// A program that is called like `rustc`.
    pub(crate) rustc: PathBuf,
    /// Makes a component of what it links.
    pub(crate) linker: PathBuf,
    /// The directory of the linker's own linker.
    pub(crate) linkers: PathBuf,
}

/// Installs it if need be.
pub(crate) fn rust_for_wasm() -> anyhow::Result<RustForWasm> {
    let dir = once("rust-wasm", &format!("{RELEASE} {}", PACKAGES.join(" ")), install)?;
    let sysroot = String::from_utf8(output(Command::new("rustc").args(["--print", "sysroot"]))?)?;
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let bin = Path::new(sysroot.trim()).join("lib/rustlib").join(String::from_utf8(host)?.trim()).join("bin");
    let linker = bin.join("wasm-component-ld");
    if !linker.is_file() {
        bail!("{} is missing; it comes with the Rust toolchains of rustup", linker.display());
    }
    Ok(RustForWasm { rustc: dir.join("rustc"), linker, linkers: bin.join("gcc-ld") })
}

fn install(dir: &Path) -> anyhow::Result<()> {
    let archive = debian_archive()?;
    for folder in ["state/lists/partial", "cache/archives/partial", "packages", "root"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    let sources = dir.join("debian.sources");
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    fs::write(
        &sources,
        format!("Types: deb\nURIs: {archive}\nSuites: {RELEASE}\nComponents: main\nSigned-By: {keyring}\n"),
    )?;
    let apt = || {
        let mut command = Command::new("apt-get");
        let here = |name: &str| dir.join(name).display().to_string();
        for (name, value) in [
            ("Dir::Etc::sourcelist", sources.display().to_string()),
            ("Dir::Etc::sourceparts", "-".to_owned()),
            ("Dir::State", here("state")),
            ("Dir::State::status", "/dev/null".to_owned()),
            ("Dir::Cache", here("cache")),
            ("APT::Sandbox::User", "".to_owned()),
        ] {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        command.arg("-q").current_dir(dir.join("packages"));
        command
    };
    run(apt().arg("update"))?;
    run(apt().arg("download").args(PACKAGES))?;
    for package in fs::read_dir(dir.join("packages"))? {
        run(Command::new("dpkg").arg("-x").arg(package?.path()).arg(dir.join("root")))?;
    }
    for folder in ["state", "cache", "packages"] {
        fs::remove_dir_all(dir.join(folder))?;
    }
    write_wrapper(dir)
}

/// A script that runs the compiler with its own C library. What it compiles for this machine uses the machine's.
fn write_wrapper(dir: &Path) -> anyhow::Result<()> {
    let root = dir.join("root/usr");
    let named = |folder: PathBuf, part: &str| -> anyhow::Result<PathBuf> {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut paths = entries.flatten().map(|entry| entry.path());
        let found = paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part)));
        found.with_context(|| format!("nothing called {part} in {}", folder.display()))
    };
    let libraries = named(root.join("lib"), "-linux-gnu")?;
    let loader = named(root.join("lib64"), "ld-linux").or_else(|_| named(root.join("lib"), "ld-linux"))?;
    let script = format!(
        "#!/bin/sh\nexec '{}' --library-path '{}' '{}' --sysroot '{}' \"$@\"\n",
        loader.display(),
        libraries.display(),
        root.join("bin/rustc").display(),
        root.display()
    );
    let wrapper = dir.join("rustc");
    fs::write(&wrapper, script)?;
    run(Command::new("chmod").arg("+x").arg(&wrapper))?;
    run(Command::new(&wrapper).arg("--version"))
}

/// Where this machine gets Debian's packages from.
fn debian_archive() -> anyhow::Result<String> {
    let asked = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages"])
        .output()
        .context("cannot run apt-get; components in Rust are built with Debian's packages")?;
    let text = String::from_utf8_lossy(&asked.stdout).into_owned();
    let archive = text.lines().find_map(|line| line.strip_suffix(" Debian"));
    archive.map(str::to_owned).context("apt knows no archive of Debian; add one and run `apt-get update`")
}
