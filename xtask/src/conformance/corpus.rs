//! The pinned extensions, installed once into the cache of tools.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, bail};

use super::golden::{Expected, Set};
use crate::{root, tools};

/// Peers are what the host brings, so they are not installed; scripts of packages never run.
const INSTALL: [&str; 7] =
    ["install", "--omit=dev", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel=error"];
/// A registry that fails may work a moment later.
const TRIES: u32 = 3;
/// A folder with this file in it was installed as the file says.
const MARK: &str = ".installed";

/// The installed corpus.
pub(crate) struct Corpus {
    dir: PathBuf,
}

/// Where one extension is.
pub(crate) struct Place {
    /// The folder that stands for the token.
    pub(crate) base: PathBuf,
    /// The first word of its name in the golden files.
    pub(crate) token: &'static str,
    /// What to inspect.
    pub(crate) entry: PathBuf,
}

struct Package {
    name: String,
    version: String,
    without: Vec<String>,
}

impl Corpus {
    /// Installs what the expected extensions need and is not there yet.
    pub(crate) fn install(pins: &Path, expected: &[Expected]) -> anyhow::Result<Self> {
        let wrong = || format!("cannot understand {}", pins.display());
        let text = std::fs::read_to_string(pins).with_context(|| format!("cannot read {}", pins.display()))?;
        let pinned: toml::Table = text.parse()?;
        // The folder of these pins. Each extension in it has a mark of its own, so the lock is held meanwhile.
        let dir = tools::once("pi-corpus", &text, |_| Ok(()))?;
        let _lock = tools::lock(&dir)?;
        let corpus = Self { dir };
        let examples = pinned.get("examples").and_then(toml::Value::as_table).with_context(wrong)?;
        if expected.iter().any(|one| matches!(one.set, Set::Official | Set::Installed)) {
            corpus.examples(examples).context("cannot install the official examples")?;
        }
        if expected.iter().any(|one| one.set == Set::Installed) {
            for name in strings(examples.get("installed")) {
                corpus.installed_example(&name).with_context(|| format!("cannot install the needs of {name}"))?;
            }
        }
        let mut packages = Vec::new();
        for table in pinned.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
            let word = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned).with_context(wrong);
            let package =
                Package { name: word("name")?, version: word("version")?, without: strings(table.get("without")) };
            let below = format!("$NPM/{}/", package.name);
            if expected.iter().any(|one| one.name.starts_with(&below)) {
                packages.push(package);
            }
        }
        corpus.packages(&packages)?;
        Ok(corpus)
    }

    /// Where the official examples are.
    pub(crate) fn official(&self) -> PathBuf {
        self.dir.join("examples")
    }

    /// Where an extension of the golden files is.
    pub(crate) fn place(&self, one: &Expected) -> anyhow::Result<Place> {
        let (_, rest) = one.name.split_once('/').with_context(|| format!("{} is no place", one.name))?;
        let (base, token) = match one.set {
            Set::Official => (self.official(), "$EXAMPLES"),
            Set::Installed => (self.dir.join("installed"), "$INSTALLED"),
            Set::Probes => (root().join("xtask/conformance/pi/probes"), "$PROBES"),
            Set::Npm => {
                let words = if rest.starts_with('@') { 2 } else { 1 };
                let name: Vec<&str> = rest.split('/').take(words).collect();
                (self.dir.join("npm").join(name.join("__")).join("node_modules"), "$NPM")
            }
        };
        let entry = base.join(rest);
        if !entry.exists() {
            bail!("{} is not in the corpus: {} is missing", one.name, entry.display());
        }
        Ok(Place { base, token, entry })
    }

    fn examples(&self, pin: &toml::Table) -> anyhow::Result<()> {
        let word = |key: &str| pin.get(key).and_then(toml::Value::as_str).with_context(|| format!("no {key} pinned"));
        let (package, version, folder) = (word("package")?, word("version")?, word("folder")?);
        let dir = self.dir.join("examples");
        self.once(&dir, &format!("{package}@{version}/{folder}"), |dir| {
            let parts = folder.split('/').count() + 1;
            unpack(dir, package, version, parts, Some(&format!("package/{folder}")))
        })
    }

    fn installed_example(&self, name: &str) -> anyhow::Result<()> {
        let from = self.dir.join("examples").join(name);
        let asks = std::fs::read_to_string(from.join("package.json"))?;
        self.once(&self.dir.join("installed").join(name), &asks, |dir| {
            copy(&from, dir)?;
            npm(dir, &INSTALL)
        })
    }

    /// Several at a time: npm mostly waits for the registry.
    fn packages(&self, packages: &[Package]) -> anyhow::Result<()> {
        let queue = Mutex::new(packages.iter());
        let next = || queue.lock().ok().and_then(|mut queue| queue.next());
        let work = || -> anyhow::Result<()> {
            while let Some(package) = next() {
                self.package(package).with_context(|| format!("cannot install {}", package.name))?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("an installation panicked")))
        })
    }

    fn package(&self, package: &Package) -> anyhow::Result<()> {
        let Package { name, version, without } = package;
        let dir = self.dir.join("npm").join(name.replace('/', "__"));
        self.once(&dir, &format!("{name}@{version} without {without:?}"), |dir| {
            std::fs::write(dir.join("package.json"), "{\"private\":true}\n")?;
            if without.is_empty() {
                let mut args = INSTALL.to_vec();
                let wanted = format!("{name}@{version}");
                args.push(&wanted);
                return npm(dir, &args);
            }
            // First its other dependencies, then the package itself: npm takes away what it does not know.
            let own = dir.join("own");
            std::fs::create_dir_all(&own)?;
            unpack(&own, name, version, 1, None)?;
            let asks: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(own.join("package.json"))?)?;
            let mut dependencies =
                asks.get("dependencies").and_then(serde_json::Value::as_object).cloned().unwrap_or_default();
            dependencies.retain(|name, _| !without.contains(name));
            let wanted = serde_json::json!({ "private": true, "dependencies": dependencies });
            std::fs::write(dir.join("package.json"), wanted.to_string())?;
            npm(dir, &INSTALL)?;
            let to = dir.join("node_modules").join(name);
            std::fs::create_dir_all(to.parent().unwrap_or(dir))?;
            Ok(std::fs::rename(own, to)?)
        })
    }

    /// Fills a folder unless it was filled the same way before. One that was left half done is begun anew.
    fn once(&self, dir: &Path, how: &str, fill: impl Fn(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        if std::fs::read_to_string(dir.join(MARK)).is_ok_and(|mark| mark == how) {
            return Ok(());
        }
        eprintln!("+ installing {}", dir.strip_prefix(&self.dir).unwrap_or(dir).display());
        let mut tries = 1;
        loop {
            if dir.exists() {
                std::fs::remove_dir_all(dir).with_context(|| format!("cannot empty {}", dir.display()))?;
            }
            std::fs::create_dir_all(dir)?;
            match fill(dir) {
                Ok(()) => break,
                Err(error) if tries == TRIES => return Err(error),
                Err(error) => eprintln!("  try {tries} failed: {error:#}"),
            }
            std::thread::sleep(Duration::from_secs(u64::from(tries)));
            tries += 1;
        }
        Ok(std::fs::write(dir.join(MARK), how)?)
    }
}

fn strings(list: Option<&toml::Value>) -> Vec<String> {
    let list = list.and_then(toml::Value::as_array).into_iter().flatten();
    list.filter_map(toml::Value::as_str).map(str::to_owned).collect()
}

/// Fetches a package and unpacks it, or one folder of it, without the first `strip` parts of each path.
fn unpack(dir: &Path, package: &str, version: &str, strip: usize, only: Option<&str>) -> anyhow::Result<()> {
    npm(dir, &["pack", "--silent", &format!("{package}@{version}")])?;
    let archives = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path());
    let archive = archives
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "tgz"))
        .with_context(|| format!("npm pack {package}@{version} left no archive"))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg(format!("--strip-components={strip}")).args(only).current_dir(dir);
    let done = tar.output().context("cannot run tar")?;
    if !done.status.success() {
        bail!("tar cannot unpack {}: {}", archive.display(), String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(std::fs::remove_file(archive)?)
}

fn npm(dir: &Path, args: &[&str]) -> anyhow::Result<()> {
    let done = Command::new("npm").args(args).current_dir(dir).output().context("cannot run npm")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("npm {} failed; is the registry within reach?\n{}", args.join(" "), said.trim());
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(name))?;
        } else {
            std::fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
