//! Extensions that come by themselves, without discovery: clients of a face that offer tools for as long as they
//! are connected. Their calls take the same path as all others.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use jackfield_discovery::{Extent, Found, Origin, Standing};
use jackfield_protocol::{CallError, Contributions, ErrorCode, ExtensionId, Manifest, Notice};
use jackfield_runtime::{HostApi, Instance};

use crate::gate::Gate;
use crate::host::{Host, Inner};
use crate::supervisor::Supervised;

/// How many clients may offer tools at a time.
const MOST_CLIENTS: usize = 256;

/// An extension that is there as long as this is.
pub struct Attached {
    host: Weak<Inner>,
    extension: Arc<Supervised>,
}

impl Attached {
    /// Under which id. Those of clients hold a colon, so that no installed extension has the same.
    pub fn id(&self) -> &ExtensionId {
        &self.extension.id
    }

    /// Puts this in place of what it contributed before.
    pub fn contribute(&self, contributions: Contributions) {
        self.extension.contribute(0, contributions);
    }

    /// Something for the faces, or for the caller of the call that it is about.
    pub fn tell(&self, notice: Notice) {
        Gate::new(Weak::clone(&self.host), self.extension.id.clone(), 0).tell(notice);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.extension.leave();
        if let Some(host) = self.host.upgrade() {
            host.change_extensions(|extensions| extensions.remove(&self.extension.id));
            host.rebuild();
        }
    }
}

impl Host {
    /// Takes in an instance that runs already, under the name of its manifest; another one of that name gets a number.
    ///
    /// # Errors
    /// When there are too many.
    pub fn attach(
        &self,
        mut manifest: Manifest,
        instance: Arc<dyn Instance>,
        contributions: Contributions,
    ) -> Result<Attached, CallError> {
        let inner = &self.inner;
        let name = format!("client:{}", manifest.id);
        let extension = inner.change_extensions(|extensions| {
            let attached = extensions.values().filter(|extension| extension.origin() == Origin::Attached).count();
            if attached >= MOST_CLIENTS {
                let message = format!("{MOST_CLIENTS} clients offer tools already; end one of them first");
                return Err(CallError::new(ErrorCode::Unavailable, message));
            }
            let free = |id: &ExtensionId| !extensions.contains_key(id);
            let numbered = (2..).map(|number| ExtensionId::new(format!("{name}-{number}")));
            let id = std::iter::once(ExtensionId::new(name.as_str())).chain(numbered).find(free);
            manifest.id = id.unwrap_or_else(|| ExtensionId::new(name.as_str()));
            let dir = inner.home.data(&manifest.id);
            let found = Found {
                manifest: Arc::new(manifest),
                manifest_path: dir.clone(),
                dir,
                origin: Origin::Attached,
                standing: Standing::Active,
                extent: Extent::Directory,
            };
            let rule = inner.extensions.restarts;
            let extension = Supervised::attached(found, instance, contributions, rule, Arc::downgrade(inner));
            extensions.insert(extension.id.clone(), Arc::clone(&extension));
            Ok(extension)
        })?;
        inner.rebuild();
        Ok(Attached { host: Arc::downgrade(inner), extension })
    }

    /// The manifests of those that came by themselves.
    pub fn attached(&self) -> Vec<Arc<Manifest>> {
        let extensions = self.inner.extensions.all.load();
        let attached = extensions.values().map(|extension| extension.found());
        attached.filter(|found| found.origin == Origin::Attached).map(|found| Arc::clone(&found.manifest)).collect()
    }
}

impl Inner {
    /// Changes which extensions there are; one change at a time.
    pub(crate) fn change_extensions<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<ExtensionId, Arc<Supervised>>) -> T,
    ) -> T {
        let _one_at_a_time = self.extensions.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let mut extensions = (*self.extensions.all.load_full()).clone();
        let changed = change(&mut extensions);
        self.extensions.all.store(Arc::new(extensions));
        changed
    }
}
