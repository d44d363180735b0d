//! An engine on a thread of its own.
//!
//! One that is known as it is after loading has nothing to do yet: what makes it is in memory, and it gets the thread, and
//! memory that can be written to, with the first message that wants an answer of it.

use std::io;
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use jackfield_runtime::{HostApi, LogFile, StartError, StartSpec};
use serde_json::Value;

use crate::guard::Guard;
use crate::hub::Hub;
use crate::instance::{Engine, Killer};
use crate::isolate::{self, Known, START, Setup};
use crate::messages::{ToHost, ToJs, in_words};
use crate::{CodeCache, STACK};

/// How long the memory of an engine stays after its end.
const LINGER: Duration = Duration::from_millis(100);

/// Starts an engine; with `awake` on its thread at once, whatever is known of it.
pub(crate) fn start(
    setup: &Setup,
    cache: Arc<CodeCache>,
    slice: Duration,
    awake: bool,
    spec: &StartSpec,
    host: Arc<dyn HostApi>,
    log: LogFile,
) -> Result<Engine, StartError> {
    let (sender, mail) = mpsc::channel();
    let guard = Arc::new(Guard::new(slice));
    let mut known = isolate::known(setup, &cache);
    if let Known::Fails(thrown) = &known {
        return Err(StartError::BadHandshake { reason: in_words(thrown), stderr: log.tail() });
    }
    let registered = known.take_registered();
    let sleeps = registered.is_some() && !awake;
    let (mine, setup) = (Arc::clone(&guard), setup.clone());
    let name: String = format!("js {}", spec.manifest.id).chars().take(15).collect();
    let begin: Wake = Box::new(move |hub: &Arc<Hub>| {
        let outbound = Arc::clone(hub);
        let work = move || {
            let (out, last) = (Arc::clone(&outbound), Arc::clone(&outbound));
            let gone = move |reason| {
                last.take(ToHost::Gone { reason });
                // A host that ends all its extensions and then itself need not have their memory back.
                std::thread::sleep(LINGER);
            };
            let run =
                || isolate::run(&setup, known, cache, mine, mail, Rc::new(move |message| out.take(message)), gone);
            // Whatever happens here, nobody waits for this thread in vain.
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
                outbound.take(ToHost::Gone { reason: "its engine failed; please report this".to_owned() });
            }
        };
        std::thread::Builder::new().name(name).stack_size(STACK).spawn(work).map(drop)
    });
    let (asleep, begin) = if sleeps { (Some(begin), None) } else { (None, Some(begin)) };
    let hub = Hub::new_cyclic(spec.manifest.id.clone(), host, log, |hub| {
        let sleeper = Sleeper { hub: hub.clone(), mail: sender, wake: Mutex::new(asleep) };
        move |message| sleeper.send(message)
    });
    let started = hub.expect(START);
    let registered = registered.map(|(loaded, registered)| {
        hub.forget(START);
        hub.take(ToHost::Loaded(loaded));
        registered
    });
    if let Some(begin) = begin {
        begin(&hub).map_err(|error| {
            StartError::NotRunnable(format!("extension {}: no thread for its engine: {error}", spec.manifest.id))
        })?;
    }
    Ok(Engine { hub, killer: Killer::Thread(guard), pid: None, started, registered })
}

/// Gives an engine, whose host's side this is, its thread.
type Wake = Box<dyn FnOnce(&Arc<Hub>) -> io::Result<()> + Send>;

/// An engine on a thread, which may still have to be woken.
struct Sleeper {
    hub: Weak<Hub>,
    mail: Sender<ToJs>,
    wake: Mutex<Option<Wake>>,
}

impl Sleeper {
    /// Sends it a message. Whether there is somebody to read it.
    fn send(&self, message: ToJs) -> bool {
        let mut wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        if wake.is_some() {
            let Some(hub) = self.hub.upgrade() else { return false };
            // What needs no script needs no engine: it was told of nothing yet, so it has nothing to say goodbye to.
            match message {
                ToJs::Ping => hub.take(ToHost::Pong),
                ToJs::Cancel { .. } => {}
                ToJs::Shutdown { id, .. } => hub.take(ToHost::Reply { id, outcome: Ok(Value::Null) }),
                ToJs::Stop { reason } => {
                    let asleep = wake.take();
                    drop(wake);
                    drop(asleep);
                    hub.take(ToHost::Gone { reason });
                }
                message => {
                    let sent = self.mail.send(message).is_ok();
                    if let Some(Err(error)) = wake.take().map(|wake| wake(&hub)) {
                        hub.gone(&format!("no thread for its engine: {error}"), false);
                    }
                    return sent;
                }
            }
            return true;
        }
        drop(wake);
        self.mail.send(message).is_ok()
    }
}
