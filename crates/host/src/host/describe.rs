//! Asks the runtimes: how they treat an extension, and what many extensions contribute without starting each of them.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_discovery::Standing;
use jackfield_discovery::lock::Judge;
use jackfield_protocol::{Manifest, RuntimeKind};
use jackfield_runtime::{Runtime, StartSpec, Traits};

use super::Inner;
use crate::supervisor::Supervised;

/// Fewer extensions than these are started one by one: then they are ready for the first call, too.
const FEWEST_TO_DESCRIBE: usize = 3;

/// An extension, and the hash of its files before the runtime read them.
struct Unknown {
    extension: Arc<Supervised>,
    hash: String,
}

/// Those that one runtime is asked about.
struct Group {
    runtime: Arc<dyn Runtime>,
    specs: Vec<StartSpec>,
    unknown: Vec<Unknown>,
}

impl Inner {
    /// The runtime that starts extensions of this kind; none for clients and for kinds that this host was built without.
    pub(super) fn runtime_of(&self, manifest: &Manifest) -> Option<&Arc<dyn Runtime>> {
        self.extensions.runtimes.iter().find(|runtime| runtime.kind() == manifest.runtime)
    }

    /// How the runtime of an extension treats it.
    pub(crate) fn traits(&self, manifest: &Manifest) -> Traits {
        self.runtime_of(manifest).map_or_else(Traits::default, |runtime| runtime.traits(manifest))
    }

    /// Asks the runtimes what the extensions contribute that the host does not know yet. The caller starts those that are
    /// still unknown afterwards.
    pub(crate) async fn describe(&self, extensions: &[Arc<Supervised>]) {
        // The second of two tasks finds most of it known.
        let _one_at_a_time = self.extensions.describing.lock().await;
        let mut groups: HashMap<RuntimeKind, Group> = HashMap::new();
        let judge = Judge::of(&self.home, &self.extensions.catalog);
        for extension in extensions {
            let found = extension.found();
            if !self.traits(&found.manifest).is_described {
                continue;
            }
            if found.standing != Standing::Active || extension.known().is_some() || extension.running().is_some() {
                continue;
            }
            // What cannot even be described fails when it is started, with its reason.
            let Ok((runtime, spec)) = self.start_spec(&found, &judge) else { continue };
            let hash = found.content_hash(&self.extensions.catalog);
            let fresh = || Group { runtime: Arc::clone(runtime), specs: Vec::new(), unknown: Vec::new() };
            let group = groups.entry(runtime.kind()).or_insert_with(fresh);
            group.specs.push(spec);
            group.unknown.push(Unknown { extension: Arc::clone(extension), hash });
        }
        let mut learnt = false;
        for Group { runtime, specs, unknown } in
            groups.into_values().filter(|group| group.specs.len() >= FEWEST_TO_DESCRIBE)
        {
            for (described, Unknown { extension, hash }) in runtime.describe(&specs).await.into_iter().zip(unknown) {
                match described {
                    // A call has started it meanwhile, and its instance knows better.
                    Some(_) if extension.running().is_some() => {}
                    Some(Ok(contributions)) => {
                        extension.learnt(hash, contributions);
                        learnt = true;
                    }
                    Some(Err(error)) => extension.learnt_to_fail(&error.to_string()),
                    None => {}
                }
            }
        }
        if learnt {
            self.rebuild();
        }
    }
}
