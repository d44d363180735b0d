//! Starts, deaths and restarts of fake extensions.

use super::*;

impl Supervised {
    /// The states from now on.
    pub(crate) fn states(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }
}
