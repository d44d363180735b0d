//! Polling for an answer that is expected at once. Only the JavaScript engine still does this.

use std::time::Instant;

/// Polls until `done` or `until`. Other tasks and other processes run in between.
pub async fn look_busily(done: impl Fn() -> bool, until: Instant) {
    while !done() && Instant::now() < until {
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}
