//! Extensions that are loaded once and for all.
//!
//! Most extensions do nothing when they are loaded but register what they have: they ask the host for nothing and look at
//! nothing that could be different the next time. What such a load makes of an engine is the same every time, so it is
//! kept, and the next start puts the engine as it was then into memory instead of running anything.
//!
//! Whether an extension is one of these is seen in a rehearsal: it is loaded again behind everybody's back, in engines that
//! reach nothing. Whatever it asks for beyond its own files, the time or a random number included, spoils it, and the
//! extension is loaded anew at every start, as ever. What is kept is used only for the very same files, and only by the
//! process that has made it until another one came to the same.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jackfield_runtime::{SealedFolder, SealedKey};
use rquickjs::{Context, Ctx, Function, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::modules::own_text;
use super::{BOOT, GARBAGE, SCRIPT_STACK, START, Setup, State};
use crate::agenda::{Agenda, Clock};
use crate::code::{self, CodeCache, ENGINE, hex};
use crate::guard::Guard;
use crate::image::{Difference, Image};
use crate::library::Library;
use crate::messages::{Loaded, Thrown, ToHost};
use crate::resolve::{Ask, Resolution};
use crate::stack::Source;
use crate::template::{self, Copies, Resting, Template};
use crate::transform::{self, Kind};
use crate::{STACK, raw, values};

/// How long a rehearsal may run without a pause.
const SLICE: Duration = Duration::from_secs(2);
/// How many processes may have come to something else before nobody tries any more.
const ROUNDS: u32 = 16;
/// Facts that are the same whenever an extension is loaded.
const LASTING: [&str; 6] = ["extension", "entry", "dir", "platform", "arch", "version"];
/// Facts that mostly are. An extension that looked at one is loaded as it was then where that is the same. The environment is
/// none of them: what is kept must hold no secret.
const STEADY: [&str; 7] = ["project", "home", "tmpdir", "envTmpdir", "agentDir", "mode", "hasUI"];
/// What an extension may have computed: it follows from what it gave.
const COMPUTED: [&str; 27] = [
    "base64_decode",
    "base64_encode",
    "cipher",
    "diff_lines",
    "domain_to_ascii",
    "graphemes",
    "hash",
    "hex_decode",
    "hex_encode",
    "hkdf",
    "hmac",
    "kind",
    "latin1_decode",
    "latin1_encode",
    "pbkdf2",
    "promise_state",
    "ran_out",
    "scrypt",
    "see",
    "url_parse",
    "url_set",
    "utf8_decode",
    "utf8_encode",
    "validate",
    "width",
    "words",
    "zlib",
];
/// What the library asks for to load anything at all.
const LOADING: [&str; 6] = ["builtins", "giveLate", "load", "loadLib", "reply", "resolve"];

/// What a rehearsal has seen so far.
#[derive(Default)]
pub(super) struct Rehearsal {
    seen: RefCell<Seen>,
    /// What may be looked at.
    facts: Value,
}

/// What an extension looked at while it was loaded.
#[derive(Default, PartialEq, Eq)]
struct Seen {
    modules: Vec<Module>,
    resolved: Vec<Resolved>,
    /// By their names.
    facts: BTreeSet<String>,
}

/// A file that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Module {
    path: String,
    /// As a script; nothing for data.
    script: Option<(Kind, bool)>,
    /// Of its path and its text.
    key: String,
}

/// What an import meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Resolved {
    specifier: String,
    parent: String,
    is_required: bool,
    /// Nothing where there was none.
    path: Option<String>,
}

/// What is known of an extension from its rehearsal, before the image.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// What it looked at of what is mostly the same. The rest is kept with that.
    facts: BTreeSet<String>,
    /// The template that the image is a difference to; nothing where the rehearsal was spoilt.
    template: Option<String>,
    /// Where our program began when only one process had made the image; nothing once two agree.
    made_at: Option<usize>,
    /// How many processes before had not come to the same.
    rounds: u32,
    modules: Vec<Module>,
    resolved: Vec<Resolved>,
    /// Files that were loaded, the host's included.
    cached: u32,
    /// Why it does not load, for one that does not.
    failure: Option<Thrown>,
}

/// What is known of how an extension loads.
pub(crate) enum Known {
    /// Nothing: it may be worth a rehearsal.
    Nothing,
    /// It does something else every time.
    Spoilt,
    /// It fails, and why.
    Fails(Box<Thrown>),
    /// This comes of it.
    Loaded(Box<AsLoaded>),
}

impl Known {
    /// What came of loading, where that is known, for whoever tells the host of it: what the extension registers, as text.
    pub(crate) fn take_registered(&mut self) -> Option<(Loaded, Vec<u8>)> {
        match self {
            Self::Loaded(loaded) => loaded.registered.take(),
            _ => None,
        }
    }
}

/// An engine in which an extension is loaded, not yet put anywhere.
pub(crate) struct AsLoaded {
    template: &'static Template,
    /// What is kept of it; the difference to the template begins there.
    entry: Vec<u8>,
    difference_at: usize,
    pub(super) sources: HashMap<String, Source>,
    pub(super) registered: Option<(Loaded, Vec<u8>)>,
}

impl AsLoaded {
    /// Puts it into memory.
    pub(super) fn unfold(&self) -> Option<(Runtime, Context)> {
        let packed = self.entry.get(self.difference_at..)?;
        self.template.unfold(&unpacked(packed)?)
    }
}

fn packed(difference: &Difference) -> Vec<u8> {
    lz4_flex::compress_prepend_size(&difference.to_bytes())
}

fn unpacked(packed: &[u8]) -> Option<Difference> {
    Difference::from_bytes(&lz4_flex::decompress_size_prepended(packed).ok()?)
}

/// Where what is known of an extension is kept.
fn place(setup: &Setup) -> Option<SealedKey> {
    let lasting = LASTING.map(|name| setup.info.get(name).cloned().unwrap_or_default());
    let lasting = serde_json::to_vec(&(&setup.entry, &setup.root, &setup.runtime, lasting)).ok()?;
    let versions = [ENGINE.1, env!("CARGO_PKG_VERSION"), transform::VERSION].map(str::as_bytes);
    Some(SealedFolder::key(&[&[&b"image"[..], template::identity()?, &lasting][..], &versions].concat()))
}

/// Where the rest is kept, for one that looked at these facts.
fn place_with(place: &SealedKey, facts: &BTreeSet<String>, setup: &Setup) -> Option<SealedKey> {
    let values: Vec<_> = facts.iter().map(|name| (name, setup.info.get(name))).collect();
    Some(SealedFolder::key(&[place, &serde_json::to_vec(&values).ok()?]))
}

/// Whether such an engine could be kept at all.
fn is_fit(setup: &Setup, cache: &CodeCache) -> bool {
    let plain = matches!(setup.library, Library::Embedded) && setup.artifacts.is_empty() && !setup.test_clock;
    plain && setup.runtime.is_some() && setup.copies != Copies::Never && cache.is_kept()
}

/// What is known of how this extension loads, if its files are still the same.
pub(crate) fn known(setup: &Setup, cache: &Arc<CodeCache>) -> Known {
    if !is_fit(setup, cache) {
        return Known::Spoilt;
    }
    let loaded = || {
        let place = place(setup)?;
        let mut entry = cache.entry(&place)?;
        let (mut kept, mut registered, mut difference_at) = Kept::from_bytes(&entry)?;
        if !kept.facts.is_empty() {
            entry = cache.entry(&place_with(&place, &kept.facts, setup)?)?;
            (kept, registered, difference_at) = Kept::from_bytes(&entry)?;
        }
        let sources = kept.still_holds(setup)?;
        if let Some(failure) = kept.failure {
            return Some(Known::Fails(Box::new(failure)));
        }
        let Some(name) = kept.template else { return Some(Known::Spoilt) };
        let template = template::template(cache, false).filter(|template| template.name == name)?;
        kept.made_at.is_none_or(|at| at == template.program).then_some(())?;
        let loaded = Loaded { cached: kept.cached, kept: true, ..Loaded::default() };
        let registered = Some((loaded, registered));
        Some(Known::Loaded(Box::new(AsLoaded { template, entry, difference_at, sources, registered })))
    };
    loaded().unwrap_or(Known::Nothing)
}

impl Kept {
    /// As it is kept: this, what the extension registers, and the difference to the template.
    fn to_bytes(&self, registered: &Value, difference: &[u8]) -> Option<Vec<u8>> {
        let (told, registered) = (serde_json::to_vec(self).ok()?, serde_json::to_vec(registered).ok()?);
        let lengths = [u32::try_from(told.len()).ok()?, u32::try_from(registered.len()).ok()?].map(u32::to_le_bytes);
        Some([lengths.as_flattened(), &told, &registered, difference].concat())
    }

    /// Reads that; and where the difference begins.
    fn from_bytes(bytes: &[u8]) -> Option<(Self, Vec<u8>, usize)> {
        let (lengths, rest) = bytes.split_first_chunk::<8>()?;
        let [told, registered] = *lengths.as_chunks::<4>().0 else { return None };
        let [told, registered] = [told, registered].map(|length| u32::from_le_bytes(length) as usize);
        let (told, rest) = rest.split_at_checked(told)?;
        let kept = serde_json::from_slice(told).ok()?;
        Some((kept, rest.get(..registered)?.to_vec(), 8 + told.len() + registered))
    }

    /// Has this process agree on an image with the one that kept `before`, if both have loaded the same.
    fn agree(&mut self, before: &[u8], image: &mut Image, template: &Template) -> Option<()> {
        let (other, _, difference_at) = Self::from_bytes(before)?;
        let is_same =
            self.template == other.template && self.modules == other.modules && self.resolved == other.resolved;
        is_same.then_some(())?;
        self.rounds = other.rounds + 1;
        template.agree(image, &unpacked(before.get(difference_at..)?)?, other.made_at)
    }

    /// The files that were loaded, if they are what they were then and imports still mean the same.
    fn still_holds(&self, setup: &Setup) -> Option<HashMap<String, Source>> {
        let mut resolution = Resolution::new(setup.library.clone(), setup.root.clone(), false);
        for Resolved { specifier, parent, is_required, path } in &self.resolved {
            let ask = if *is_required { Ask::Require } else { Ask::Import };
            if resolution.resolve(specifier, parent, ask).ok() != *path {
                return None;
            }
        }
        let mut sources = HashMap::with_capacity(self.modules.len());
        for Module { path, script, key } in &self.modules {
            let text = own_text(&resolution, Path::new(path))?.ok()?;
            if hex(&code::key(path, &text)) != *key {
                return None;
            }
            if let Some((kind, is_async)) = script {
                sources.insert(path.clone(), Source::new(*kind, *is_async, text.into()));
            }
        }
        Some(sources)
    }
}

impl Rehearsal {
    /// A file was read; what comes of it depends on what it says, also where it is no script that could be compiled.
    pub(super) fn read(&self, path: &str, text: &str) {
        let module = Module { path: path.to_owned(), script: None, key: hex(&code::key(path, text)) };
        self.seen.borrow_mut().modules.push(module);
    }

    /// It is a script of this kind.
    pub(super) fn compiled(&self, path: &str, script: (Kind, bool)) {
        if let Some(module) = self.seen.borrow_mut().modules.iter_mut().rfind(|module| module.path == path) {
            module.script = Some(script);
        }
    }

    pub(super) fn resolved(&self, specifier: &str, parent: &str, ask: Ask, path: Option<&str>) {
        if crate::library::is_library(parent) {
            return;
        }
        let (specifier, parent, path) = (specifier.to_owned(), parent.to_owned(), path.map(str::to_owned));
        let resolved = Resolved { specifier, parent, is_required: ask == Ask::Require, path };
        self.seen.borrow_mut().resolved.push(resolved);
    }
}

impl State {
    /// Whether this may be called now: in a rehearsal only what gives the same every time.
    pub(super) fn may_call(&self, native: &str) -> bool {
        self.rehearsal.is_none() || native == "native" || LOADING.contains(&native)
    }

    /// As [`Self::may_call`], for what is called by its name.
    pub(super) fn may_compute(&self, name: &str) -> bool {
        self.rehearsal.is_none() || COMPUTED.contains(&name)
    }

    /// Script looks at a fact that may be different the next time.
    pub(super) fn see(&self, fact: &str) -> Value {
        match &self.rehearsal {
            Some(rehearsal) if STEADY.contains(&fact) => {
                rehearsal.seen.borrow_mut().facts.insert(fact.to_owned());
                return rehearsal.facts.get(fact).cloned().unwrap_or_default();
            }
            Some(_) => self.spoil(),
            None => {}
        }
        Value::Null
    }

    /// The rehearsal has shown that it is of no use.
    pub(super) fn spoil(&self) {
        self.guard.stop("the rehearsal is over");
    }
}

type Proposal = Box<dyn FnOnce() + Send>;

/// What came of loading an extension: what it registers, or what was thrown.
type Outcome = Result<Value, Thrown>;

/// Has an extension rehearsed some time, one after another; this came of loading it.
pub(super) fn propose(setup: Setup, outcome: Outcome, cache: &Arc<CodeCache>) {
    let cache = Arc::clone(cache);
    if let Some(queue) = queue() {
        let rehearsal = move || {
            rehearse(&setup, &outcome, &cache);
        };
        queue.send(Box::new(rehearsal)).ok();
    }
}

/// Waits until everything was rehearsed that was proposed so far.
pub(crate) fn settle() {
    let (done, wait) = mpsc::channel::<()>();
    if let Some(queue) = queue()
        && queue.send(Box::new(move || drop(done))).is_ok()
    {
        wait.recv().ok();
    }
}

fn queue() -> Option<&'static Sender<Proposal>> {
    static QUEUE: OnceLock<Option<Sender<Proposal>>> = OnceLock::new();
    let begin = || {
        let (sender, proposals) = mpsc::channel::<Proposal>();
        let work = move || {
            for proposal in proposals {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(proposal)).ok();
            }
        };
        let begun = std::thread::Builder::new().name("js rehearsal".to_owned()).stack_size(STACK).spawn(work);
        begun.is_ok().then_some(sender)
    };
    QUEUE.get_or_init(begin).as_ref()
}

/// Loads an extension twice where it reaches nothing, and keeps what came of it if that is what came of it before.
fn rehearse(setup: &Setup, outcome: &Outcome, cache: &Arc<CodeCache>) -> Option<()> {
    let place = place(setup)?;
    if !is_fit(setup, cache) {
        return None;
    }
    let template = template::template(cache, true)?;
    // Both lie in memory at once, so that they lie in different places.
    let (one, other) = (played(setup, cache, template)?, played(setup, cache, template)?);
    let is_same =
        one.seen == other.seen && [&one, &other].iter().all(|played| played.outcome.as_ref() == Some(outcome));
    let (mut image, mut registered, mut failure) = (None, Value::Null, None);
    match one.outcome.filter(|_| is_same) {
        Some(Ok(value)) => {
            image = one.engine.image(&other.engine);
            registered = value;
        }
        Some(Err(thrown)) => failure = Some(thrown),
        None => {}
    }
    let mut to = place;
    let Seen { modules, resolved, facts } = one.seen;
    if !facts.is_empty() {
        to = place_with(&place, &facts, setup)?;
        let pointer = Kept { facts, ..Kept::default() };
        cache.keep_entry(&place, &pointer.to_bytes(&Value::Null, &[])?)?;
    }
    let mut kept = Kept { modules, resolved, cached: one.cached, failure, ..Kept::default() };
    let mut difference = Vec::new();
    if let Some(mut image) = image {
        template.keep(cache)?;
        kept.template = Some(template.name.clone());
        let agreed = cache.entry(&to).and_then(|before| kept.agree(&before, &mut image, template));
        kept.made_at = agreed.is_none().then_some(template.program);
        if agreed.is_none() && kept.rounds >= ROUNDS {
            kept.template = None;
        } else {
            difference = packed(&template.difference(&image)?);
        }
    }
    cache.keep_entry(&to, &kept.to_bytes(&registered, &difference)?)
}

/// What came of loading an extension where it reaches nothing.
struct Played {
    engine: Resting,
    seen: Seen,
    cached: u32,
    /// What it registers, or why it does not load; nothing where the rehearsal was spoilt.
    outcome: Option<Outcome>,
}

fn played(setup: &Setup, cache: &Arc<CodeCache>, template: &Template) -> Option<Played> {
    let engine = template.copy_to_keep()?;
    let Resting { runtime, context, .. } = &engine;
    let guard = Arc::new(Guard::new(SLICE));
    let (heard, watch) = (Rc::new(RefCell::new(Vec::new())), Arc::clone(&guard));
    let rejected = Rc::new(Cell::new(0));
    let tracked = Rc::clone(&rejected);
    runtime.set_gc_threshold(GARBAGE.min(setup.memory / 4));
    runtime.set_max_stack_size(SCRIPT_STACK);
    runtime.set_interrupt_handler(Some(Box::new(move || watch.is_over())));
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |_, _, _, handled| {
        tracked.set(tracked.get() + if handled { -1 } else { 1 });
    })));
    let (_sender, mail) = mpsc::channel();
    let out = Rc::clone(&heard);
    let state = Rc::new(State {
        resolution: RefCell::new(Resolution::new(setup.library.clone(), setup.root.clone(), false)),
        rehearsal: Some(Rehearsal { facts: setup.info.clone(), ..Rehearsal::default() }),
        ..State::new(
            Agenda::new(mail, Clock::Test(0)),
            Rc::new(move |message| out.borrow_mut().push(message)),
            guard,
            Arc::clone(cache),
            setup.library.clone(),
        )
    });
    let random = raw::random_state();
    let done = context.with(|cx| state.play(&cx, setup).is_some());
    runtime.set_interrupt_handler(None);
    runtime.set_host_promise_rejection_tracker(None);
    let (mut outcome, mut cached) = (None, 0);
    for message in heard.take() {
        match message {
            ToHost::Reply { id: START, outcome: answer } => outcome = Some(answer),
            ToHost::Loaded(loaded) if loaded.compiled == 0 => cached = loaded.cached,
            _ => state.spoil(),
        }
    }
    let looked_away = raw::random_state() == random && state.natives.is_unused() && rejected.get() == 0;
    let spoilt = !done || state.guard.is_stopped() || !looked_away || engine.is_full();
    let seen = state.rehearsal.as_ref()?.seen.take();
    drop(state);
    Some(Played { engine, seen, cached, outcome: outcome.filter(|_| !spoilt) })
}

impl State {
    /// Loads the extension and leaves the engine as one that another can take over.
    fn play(self: &Rc<Self>, cx: &Ctx<'_>, setup: &Setup) -> Option<()> {
        self.guard.begin();
        let boot = self.take_over(cx).ok()?;
        // What may be different the next time is there only if it is looked at, and what must not be kept not even then.
        let facts = setup.info.as_object()?.iter();
        let given = |name: &str, fact: &Value| if LASTING.contains(&name) { fact.clone() } else { Value::Null };
        let facts = facts.map(|(name, fact)| (name.clone(), given(name, fact)));
        let info = values::to_js(cx, Value::Object(facts.collect())).ok()?;
        boot.get::<_, Function>("rehearse").ok()?.call::<_, ()>((info, LASTING.to_vec())).ok()?;
        let entry = setup.entry.to_string_lossy().into_owned();
        let over = self.enter(cx, &boot, "start", (START, setup.runtime.as_deref(), entry.as_str()));
        boot.get::<_, Function>("rest").ok()?.call::<_, ()>(()).ok()?;
        cx.globals().set(BOOT, boot).ok()?;
        raw::serve(cx, None).ok()?;
        (over.is_none() && matches!(raw::run_job(cx), raw::Job::Nothing)).then_some(())
    }
}
