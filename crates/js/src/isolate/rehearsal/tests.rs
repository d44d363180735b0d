//! What one process has made is for another only when both came to the same. Here one process plays the others: it changes
//! where what is kept says that our program was.

use serde_json::json;

use super::*;

/// A place with the same lower 16 bits as here tells nothing, the next page does.
const MUTE: usize = 1 << 16;
const TELLING: usize = 1 << 12;

/// Does nothing but register.
fn script(description: &str) -> String {
    format!("export default (pi) => pi.registerCommand('x', {{ description: '{description}', handler() {{}} }});")
}

struct Stage {
    setup: Setup,
    cache: Arc<CodeCache>,
    outcome: Outcome,
    _folder: tempfile::TempDir,
}

/// Starts it as ever, which has it compiled, and gives what came of it.
fn started(setup: &Setup, cache: &Arc<CodeCache>) -> Outcome {
    let (_sender, mail) = mpsc::channel();
    let heard = Rc::new(RefCell::new(None));
    let out = Rc::clone(&heard);
    let out = move |message| {
        if let ToHost::Reply { id: START, outcome } = message {
            *out.borrow_mut() = Some(outcome);
        }
    };
    let setup = Setup { test_clock: true, ..setup.clone() };
    let guard = Arc::new(Guard::new(Duration::from_secs(20)));
    super::super::run(&setup, Known::Spoilt, Arc::clone(cache), guard, mail, Rc::new(out), |_| {});
    heard.take().expect("it answers")
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let entry = root.join("entry.mjs");
        std::fs::write(&entry, script("hph")).expect("written");
        let setup = Setup {
            root: entry.clone(),
            runtime: Some("jackfield:pi/runtime".to_owned()),
            info: json!({ "extension": "test", "entry": entry, "env": {}, "project": "/", "home": "/" }),
            entry,
            library: Library::Embedded,
            memory: 64 * 1024 * 1024,
            test_clock: false,
            artifacts: Vec::new(),
            manifest: String::new(),
            copies: Copies::OfMany,
        };
        let cache = Arc::new(CodeCache::at(&root.join("code")));
        let outcome = started(&setup, &cache);
        Self { setup, cache, outcome, _folder: folder }
    }

    fn rehearse(&self) {
        rehearse(&self.setup, &self.outcome, &self.cache).expect("it is kept");
    }

    fn is_known(&self) -> bool {
        matches!(known(&self.setup, &self.cache), Known::Loaded(_))
    }

    fn kept(&self) -> (Kept, Vec<u8>) {
        let entry = self.cache.entry(&place(&self.setup).expect("a place")).expect("kept");
        (Kept::from_bytes(&entry).expect("whole").0, entry)
    }

    /// Says that a process made it in which our program lies so far away.
    fn move_away(&self, distance: usize) {
        let (mut kept, entry) = self.kept();
        let (_, registered, difference_at) = Kept::from_bytes(&entry).expect("whole");
        kept.made_at = kept.made_at.map(|at| at + distance);
        let registered = serde_json::from_slice(&registered).expect("JSON");
        let entry = kept.to_bytes(&registered, &entry[difference_at..]).expect("bytes");
        self.cache.keep_entry(&place(&self.setup).expect("a place"), &entry).expect("kept");
    }
}

#[test]
fn what_one_process_made_is_for_no_other() {
    let stage = Stage::new();
    stage.rehearse();
    assert!(stage.is_known(), "it is its own");
    stage.move_away(TELLING);
    assert!(!stage.is_known());
    // The second to come to the same makes it everybody's.
    stage.rehearse();
    assert_eq!(stage.kept().0.made_at, None);
    assert!(stage.is_known());
    stage.rehearse();
    assert_eq!(stage.kept().0.made_at, None, "it stays that");
}

#[test]
fn two_processes_that_cannot_tell_agree_on_nothing() {
    let stage = Stage::new();
    stage.rehearse();
    stage.move_away(MUTE);
    stage.rehearse();
    assert!(stage.kept().0.made_at.is_some());
    stage.move_away(MUTE);
    assert!(!stage.is_known());
}

#[test]
fn files_that_changed_are_agreed_on_anew() {
    let stage = Stage::new();
    stage.rehearse();
    stage.move_away(TELLING);
    std::fs::write(&stage.setup.entry, script("hpx")).expect("written");
    let outcome = started(&stage.setup, &stage.cache);
    let stage = Stage { outcome, ..stage };
    stage.rehearse();
    let (kept, _) = stage.kept();
    assert!(kept.made_at.is_some() && kept.rounds == 0, "{kept:?}");
}

#[test]
fn nobody_tries_for_ever() {
    let stage = Stage::new();
    for _ in 0..ROUNDS {
        stage.rehearse();
        assert!(matches!(known(&stage.setup, &stage.cache), Known::Loaded(_)));
        stage.move_away(MUTE);
        assert!(matches!(known(&stage.setup, &stage.cache), Known::Nothing));
    }
    stage.rehearse();
    assert!(matches!(known(&stage.setup, &stage.cache), Known::Spoilt));
}
