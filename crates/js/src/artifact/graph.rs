//! Which files an extension consists of, found without running any: what each names in `import`, `export … from`, and, as
//! plain text, in `import()` and `require()`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use jackfield_protocol::Manifest;
use rquickjs::{CatchResultExt as _, Context, Ctx, Runtime};
use sha2::{Digest as _, Sha256};

use super::{digest_of, engine, pack, read, sha256_of};
use crate::code::{Code, CodeCache, Facts, hex};
use crate::library::{Library, is_library};
use crate::resolve::{Ask, Resolution, root_of};
use crate::{raw, transform};

/// Beyond this the rest is left to the moment it is loaded.
const MOST_FILES: usize = 5_000;

/// A file of an extension.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BuiltFile {
    /// Absolute, without links.
    pub path: PathBuf,
    /// Of its text.
    pub sha256: String,
    /// Of compiled code; nothing for data.
    pub bytes: usize,
}

/// An extension, compiled.
#[derive(Debug)]
pub struct Built {
    /// The file itself.
    pub artifact: Vec<u8>,
    /// Of the file.
    pub sha256: String,
    /// Of manifest, files and engine.
    pub hash: String,
    /// The engine that can run it.
    pub engine: String,
    /// In order of their paths.
    pub files: Vec<BuiltFile>,
    /// The host's modules that it names.
    pub modules: Vec<String>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// Compiles the extension whose factory is in `entry`, and runs nothing of it. `cache` has the key.
///
/// # Errors
/// When the entry itself cannot be compiled, or nothing can be sealed.
pub fn build(manifest: &Manifest, entry: &Path, cache: &CodeCache) -> Result<Built, String> {
    let entry = entry.canonicalize().map_err(|error| format!("{} cannot be read: {error}", entry.display()))?;
    let fault = |error: rquickjs::Error| format!("the engine could not be made: {error}");
    let runtime = Runtime::new().map_err(fault)?;
    let context = Context::full(&runtime).map_err(fault)?;
    let mut graph = Graph {
        // Nothing runs here, so the folder of the entry is its own wherever it lies; a start asks again.
        resolution: Resolution::new(
            Library::Embedded,
            root_of(&entry, entry.parent().unwrap_or(&entry), Path::new("/")),
            false,
        ),
        queue: VecDeque::from([entry.clone()]),
        files: BTreeMap::new(),
        modules: BTreeSet::new(),
        left_out: Vec::new(),
    };
    while let Some(path) = graph.queue.pop_front() {
        if graph.files.contains_key(&path) {
            continue;
        }
        if graph.files.len() >= MOST_FILES {
            graph.left_out.push(format!("only the first {MOST_FILES} files are compiled ahead"));
            break;
        }
        let made = context.with(|cx| graph.file(&cx, &path));
        match made {
            Ok(made) => {
                graph.files.insert(path, made);
            }
            Err(why) if path == entry => return Err(why),
            Err(why) => graph.left_out.push(why),
        }
    }
    graph.finish(manifest, &entry, cache)
}

struct Graph {
    resolution: Resolution,
    queue: VecDeque<PathBuf>,
    /// Text and code by path.
    files: BTreeMap<PathBuf, (String, Option<Code>)>,
    modules: BTreeSet<String>,
    left_out: Vec<String>,
}

impl Graph {
    fn file(&mut self, cx: &Ctx<'_>, path: &Path) -> Result<(String, Option<Code>), String> {
        let unread = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let name = path.to_str().ok_or_else(|| unread(&"not a name in UTF-8"))?;
        let text = transform::text_of(read(path).map_err(|error| unread(&error))?);
        let sha256 = sha256_of(&text);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => return Ok((sha256, None)),
            Some("node" | "md" | "html" | "txt" | "css" | "wasm") => return Err(unread(&"is no script")),
            _ => {}
        }
        let code = compile(cx, name, &text).catch(cx).map_err(|error| unread(&error))??;
        let named = code.facts.deps.iter().map(|dep| (dep.clone(), Ask::Import)).collect::<Vec<_>>();
        for (specifier, ask) in named.into_iter().chain(transform::named(path, &text)) {
            self.reach(&specifier, name, ask);
        }
        Ok((sha256, Some(code)))
    }

    fn reach(&mut self, specifier: &str, parent: &str, ask: Ask) {
        match self.resolution.resolve(specifier, parent, ask) {
            Ok(module) if is_library(&module) => {
                self.modules.insert(module);
            }
            Ok(path) if self.resolution.is_own(Path::new(&path)) => self.queue.push_back(PathBuf::from(path)),
            Ok(path) => self.say(format!("{path} is not the extension's own; it is asked for when it is loaded")),
            Err(why) => self.say(why),
        }
    }

    fn say(&mut self, why: String) {
        if !self.left_out.contains(&why) {
            self.left_out.push(why);
        }
    }

    fn finish(self, manifest: &Manifest, entry: &Path, cache: &CodeCache) -> Result<Built, String> {
        let (manifest, engine) = (digest_of(manifest), engine());
        let folder = entry.parent().unwrap_or(entry);
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        field(manifest.as_bytes());
        let mut files = Vec::with_capacity(self.files.len());
        let mut packed = Vec::with_capacity(self.files.len());
        for (path, (sha256, code)) in self.files {
            // Relative, so that the hash speaks of the content and not of the place.
            field(path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes());
            field(sha256.as_bytes());
            let bytes = code.as_ref().map_or(0, |code| code.bytecode().len());
            packed.push((path.to_string_lossy().into_owned(), sha256.clone(), code));
            files.push(BuiltFile { path, sha256, bytes });
        }
        field(engine.as_bytes());
        let artifact = pack(cache, entry, &manifest, &packed)?;
        let modules = self.modules.into_iter().collect();
        let hash = format!("sha256:{}", hex(&hash.finalize()));
        let sha256 = hex(&Sha256::digest(&artifact));
        Ok(Built { artifact, sha256, hash, engine, files, modules, left_out: self.left_out })
    }
}

fn compile(cx: &Ctx<'_>, name: &str, text: &str) -> rquickjs::Result<Result<Code, String>> {
    let unit = match transform::transform(Path::new(name), text) {
        Ok(unit) => unit,
        Err(why) => return Ok(Err(why)),
    };
    let (bytecode, _) = raw::compile(cx, name, &unit.script, true)?;
    let facts = Facts { kind: unit.kind, is_async: unit.is_async, deps: unit.deps };
    Ok(Code::new(facts, &bytecode).map_err(|error| error.to_string()))
}
