//! A channel that a test feeds through a folder, and the host that runs it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use jackfield_test_support::{KilledOnDrop, Sandbox, eventually, misbehaving};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A sandbox with the extension `box` and its channel `chat`.
pub(crate) struct Chat {
    pub(crate) sandbox: Sandbox,
    next: u32,
}

impl Chat {
    /// Installed, with the power it needs, and not run yet.
    pub(crate) fn new(modes: &str) -> Self {
        Self::with(modes, "")
    }

    /// The same, with further lines in its manifest.
    pub(crate) fn with(modes: &str, manifest: &str) -> Self {
        let chat = Self { sandbox: crate::sandbox(), next: 0 };
        fs::create_dir_all(chat.spool().join("in")).expect("a folder");
        fs::create_dir_all(chat.spool().join("taken")).expect("a folder");
        chat.install(modes, manifest);
        chat.sandbox.run(&["grant", "box", "agent"]).exits(0);
        chat
    }

    pub(crate) fn install(&self, modes: &str, manifest: &str) {
        let (script, spool) = (misbehaving("channel.py"), self.spool());
        let text = format!(
            "id = \"box\"\nversion = \"1.0.0\"\n\n[run]\ncommand = \"python3\"\nargs = [{:?}, {:?}, \"{modes}\"]\n\n{manifest}\n",
            script.display().to_string(),
            spool.display().to_string(),
        );
        self.sandbox.write(&self.extension().join("extension.toml"), &text);
    }

    pub(crate) fn extension(&self) -> PathBuf {
        self.sandbox.home().join("extensions/box")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.sandbox.path("spool")
    }

    /// The folder that the host keeps for the channel.
    pub(crate) fn kept(&self) -> PathBuf {
        self.sandbox.home().join("channels/chat")
    }

    /// Lets somebody in before the channel runs.
    pub(crate) fn allow(&self, sender: &str) {
        self.sandbox.run(&["channel", "allow", "chat", sender]).exits(0);
    }

    /// Somebody says something.
    pub(crate) fn say(&mut self, sender: &str, text: &str) {
        self.put(json!({ "text": text, "sender": sender }).to_string().as_bytes());
    }

    /// A message as it is, or a line of the extension.
    pub(crate) fn put(&mut self, content: &[u8]) {
        self.next += 1;
        let name = format!("{:06}", self.next);
        let hidden = self.spool().join("in").join(format!(".{name}"));
        fs::write(&hidden, content).expect("a message");
        fs::rename(hidden, self.spool().join("in").join(name)).expect("a message");
    }

    /// What was sent so far.
    pub(crate) fn sent(&self) -> Vec<Value> {
        lines(&self.spool().join("out.jsonl")).iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The texts that somebody was sent so far.
    pub(crate) fn sent_to(&self, sender: &str) -> Vec<String> {
        let mine = |line: &Value| (line["sender"] == sender).then(|| line["text"].as_str().unwrap_or("?").to_owned());
        self.sent().iter().filter_map(mine).collect()
    }

    /// Waits until somebody was sent exactly this.
    #[track_caller]
    pub(crate) fn hears(&self, sender: &str, texts: &[&str]) {
        eventually(&format!("{sender} hears {texts:?}, not {:?}", self.sent_to(sender)), || {
            self.sent_to(sender).len() >= texts.len()
        });
        assert_eq!(self.sent_to(sender), texts);
    }

    /// What happened to the channel so far.
    pub(crate) fn happened(&self, what: &str) -> usize {
        lines(&self.spool().join("log")).iter().filter(|line| line.starts_with(what)).count()
    }

    /// Messages that wait and that failed.
    pub(crate) fn letters(&self) -> (usize, usize) {
        let count = |name: &str| {
            let entries = fs::read_dir(self.kept().join(name)).into_iter().flatten().flatten();
            entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".json")).count()
        };
        (count("inbox"), count("failed"))
    }

    pub(crate) fn run(&self, more: &[&str]) -> Running {
        let mut words = vec!["channel", "run", "chat", "--retry-ms", "5"];
        words.extend(more);
        Running::start(&self.sandbox, &words)
    }

    pub(crate) fn echo(&self) -> Running {
        self.run(&["--respond", "echo"])
    }

    /// All records of the ledger, which must verify.
    #[track_caller]
    pub(crate) fn ledger(&self) -> Vec<Value> {
        ledger(&self.sandbox)
    }
}

#[track_caller]
pub(crate) fn ledger(sandbox: &Sandbox) -> Vec<Value> {
    let (code, report) = sandbox.json(&["ledger", "verify"]);
    assert_eq!((code, &report["problems"]), (0, &json!([])), "{report:#}");
    let mut records = Vec::new();
    for entry in fs::read_dir(sandbox.home().join("ledger")).expect("a ledger").flatten() {
        records.extend(lines(&entry.path()).iter().filter_map(|line| serde_json::from_str(line).ok()));
    }
    records
}

pub(crate) fn of_event<'a>(records: &'a [Value], event: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["event"] == event).collect()
}

fn lines(file: &std::path::Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // A line that is being written has no end yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// A host that runs a channel.
pub(crate) struct Running {
    child: KilledOnDrop,
    news: Arc<Mutex<Vec<Value>>>,
    errors: Arc<Mutex<String>>,
}

impl Running {
    pub(crate) fn start(sandbox: &Sandbox, words: &[&str]) -> Self {
        let mut all = vec!["--json"];
        all.extend(words);
        let mut command = sandbox.command(&all);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let (news, errors) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(String::new())));
        let (out, err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        std::thread::spawn({
            let news = Arc::clone(&news);
            move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let value = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "noise": line }));
                    news.lock().expect("no panic").push(value);
                }
            }
        });
        std::thread::spawn({
            let errors = Arc::clone(&errors);
            move || {
                for line in BufReader::new(err).lines().map_while(Result::ok) {
                    errors.lock().expect("no panic").push_str(&line);
                }
            }
        });
        Self { child: child.into(), news, errors }
    }

    pub(crate) fn news(&self) -> Vec<Value> {
        self.news.lock().expect("no panic").clone()
    }

    pub(crate) fn count(&self, event: &str) -> usize {
        self.news().iter().filter(|news| news["event"] == event).count()
    }

    /// Waits for news of this kind and gives the first of them.
    #[track_caller]
    pub(crate) fn tells(&self, event: &str) -> Value {
        eventually(&format!("{event}; news: {:#?}", self.news()), || self.count(event) > 0);
        self.news().into_iter().find(|news| news["event"] == event).expect("just seen")
    }

    #[track_caller]
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("signalled");
    }

    /// Waits for its end and gives its exit code.
    #[track_caller]
    pub(crate) fn gone(&mut self) -> i32 {
        let what = format!("the end of the host; news: {:#?}", self.news());
        self.child.gone(&what)
    }

    /// Stops it as a person would, and expects that to work.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        self.signal(Signal::TERM);
        let code = self.gone();
        assert_eq!(code, 0, "{:#?}\n{}", self.news(), self.errors.lock().expect("no panic"));
    }

    /// As `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("reaped");
    }
}
