//! From a component to code that runs: from the sealed folder, or compiled now and kept there.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;

use jackfield_runtime::{SealedFolder, SealedKey};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::raw::{self, Trusted};
use crate::{Facts, WasmOptions, compile, engine, scan, strip};

/// The engine's name and version; code of another one is never used.
pub const ENGINE: (&str, &str) = ("wasmtime", "48");

/// Code that runs, and whether it had to be compiled for that.
pub(crate) struct Loaded {
    pub(crate) component: Component,
    pub(crate) compiled: bool,
}

/// Where native code comes from.
pub(crate) struct Codes {
    folder: Option<SealedFolder>,
    compiler: Option<Vec<String>>,
}

impl Codes {
    pub(crate) fn new(options: &WasmOptions) -> Self {
        // A folder that cannot be used is done without.
        let folder = options.cache.as_deref().and_then(|folder| SealedFolder::open(folder).ok());
        Self { folder, compiler: options.compiler.clone() }
    }

    /// Code for a component whose imports were looked at.
    pub(crate) async fn load(self: &Arc<Self>, engine: &Engine, component: Vec<u8>) -> Result<Loaded, String> {
        let key = key(engine, &component);
        if let Some(component) = self.kept(engine, &key) {
            return Ok(Loaded { component, compiled: false });
        }
        let (ours, engine) = (Arc::clone(self), engine.clone());
        // Goes on when nobody waits any more: the next start finds what it made.
        let work = tokio::spawn(async move { ours.compile(&engine, &key, component).await });
        work.await.map_err(|error| format!("it cannot be compiled: {error}"))?
    }

    fn kept(&self, engine: &Engine, key: &SealedKey) -> Option<Component> {
        let sealed = self.folder.as_ref()?.read(key)?;
        raw::load(engine, &Trusted::sealed(&sealed)).ok()
    }

    async fn compile(&self, engine: &Engine, key: &SealedKey, component: Vec<u8>) -> Result<Loaded, String> {
        let code = match &self.compiler {
            Some(command) => compile::there(command, component).await?,
            None => {
                let work = tokio::task::spawn_blocking(move || compile::here(&component));
                work.await.map_err(|error| format!("it cannot be compiled: {error}"))??
            }
        };
        let component = raw::load(engine, &Trusted::compiled(&code))
            .map_err(|error| format!("what was compiled of it cannot be used: {error:#}"))?;
        if let Some(folder) = &self.folder {
            // A cache that cannot be written costs time, nothing else.
            folder.write(key, &code).ok();
        }
        Ok(Loaded { component, compiled: true })
    }
}

/// Names what is made of a component with this engine and its settings.
fn key(engine: &Engine, component: &[u8]) -> SealedKey {
    let mut settings = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut settings);
    let parts: [&[u8]; 4] = [
        ENGINE.0.as_bytes(),
        env!("CARGO_PKG_VERSION").as_bytes(),
        &settings.finish().to_le_bytes(),
        &Sha256::digest(component),
    ];
    SealedFolder::key(&parts)
}

/// What `jackfield build` makes of a component.
#[derive(Debug)]
pub struct Built {
    /// What is shipped: the component without what it does not need to run.
    pub component: Vec<u8>,
    /// What is known of that.
    pub facts: Facts,
    /// Bytes of the native code that was made of it for this machine.
    pub native: usize,
}

/// Checks a component, strips it, and compiles it into the folder for native code.
///
/// # Errors
/// It is no component that this host could run; says why.
pub fn build(component: &[u8], cache: &Path) -> Result<Built, String> {
    scan(component)?;
    let stripped = strip(component)?;
    let facts = scan(&stripped)?;
    let engine = engine::engine()?;
    let code = compile::here(&stripped)?;
    let folder = SealedFolder::open(cache).map_err(|error| format!("{} cannot be used: {error}", cache.display()))?;
    let keep = |component: &[u8]| {
        folder.write(&key(&engine, component), &code).map_err(|error| format!("its code cannot be kept: {error}"))
    };
    keep(&stripped)?;
    // What was taken out makes no other code, so that the source need not be compiled either.
    keep(component)?;
    Ok(Built { component: stripped, facts, native: code.len() })
}
