//! An engine on a thread of its own.

use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackfield_runtime::{HostApi, LogFile, StartError, StartSpec};

use crate::engine_client::EngineClient;
use crate::guard::Guard;
use crate::instance::{Engine, Killer};
use crate::isolate::{self, Prepared, START, Setup};
use crate::messages::ToHost;
use crate::{CodeCache, Library, STACK};

/// How long the memory of an engine stays after its end.
const MEMORY_RELEASE_DELAY: Duration = Duration::from_millis(100);

/// Starts an engine.
pub(crate) fn start(
    setup: &Setup,
    library: Library,
    cache: Arc<CodeCache>,
    slice: Duration,
    spec: &StartSpec,
    host: Arc<dyn HostApi>,
    log: LogFile,
) -> Result<Engine, StartError> {
    let (sender, mail) = mpsc::channel();
    let guard = Arc::new(Guard::new(slice));
    let client = EngineClient::new(spec.manifest.id.clone(), host, log, move |message| sender.send(message).is_ok());
    let started = client.expect(START);
    let (mine, setup, outbound) = (Arc::clone(&guard), setup.clone(), Arc::clone(&client));
    let work = move || {
        let (out, last) = (Arc::clone(&outbound), Arc::clone(&outbound));
        let gone = move |reason| {
            last.take(ToHost::Gone { reason });
            // A host that ends all its extensions and then itself need not have their memory back.
            std::thread::sleep(MEMORY_RELEASE_DELAY);
        };
        let run = || match Prepared::new(&library, cache) {
            Ok(prepared) => {
                isolate::run(prepared, &setup, mine, mail, Rc::new(move |message| out.take(message)), gone);
            }
            Err(why) => gone(why),
        };
        // The host learns of a panic in the engine as of any other end.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            outbound.take(ToHost::Gone { reason: "its engine failed; please report this".to_owned() });
        }
    };
    let name: String = format!("js {}", spec.manifest.id).chars().take(15).collect();
    std::thread::Builder::new().name(name).stack_size(STACK).spawn(work).map_err(|error| {
        StartError::NotRunnable(format!("extension {}: no thread for its engine: {error}", spec.manifest.id))
    })?;
    Ok(Engine { client, killer: Killer::Thread(guard), pid: None, started })
}
