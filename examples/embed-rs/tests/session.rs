//! The built example as a person drives it: trust, a tool, a permission question, an edit, a reload, the end.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jackfield_test_support::{JsonLines, KilledOnDrop, eventually};

/// A home, a project with two extensions, and the program that works on it.
struct Session {
    dir: tempfile::TempDir,
    program: KilledOnDrop,
    lines: JsonLines,
}

impl Session {
    /// Starts the program and says yes when it asks for trust.
    fn trusted() -> Self {
        let dir = tempfile::Builder::new().prefix("jackfield-embed").tempdir().expect("a temporary directory");
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let project = dir.path().join("project");
        for (name, files) in
            [("hello-sh", ["extension.json", "hello.sh"]), ("notes-py", ["extension.toml", "notes.py"])]
        {
            let folder = project.join(".jackfield/extensions").join(name);
            fs::create_dir_all(&folder).expect("a folder");
            for file in files {
                // Copies keep the mode: both programs can be run.
                fs::copy(examples.join(name).join(file), folder.join(file)).expect("a copy");
            }
        }
        fs::write(project.join("todo.txt"), "milk\nbread\n").expect("a file");
        let mut program = Command::new(env!("CARGO_BIN_EXE_embed-rs"))
            .arg(&project)
            .env("JACKFIELD_HOME", dir.path().join("home"))
            .env("HOME", dir.path().join("user"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let lines = JsonLines::of(program.stdout.take().expect("a pipe"));
        let mut session = Self { dir, program: program.into(), lines };
        session.says("trust the extensions of this project? [y/n]");
        session.types("y");
        for tool in ["note_add: ", "note_import: ", "note_list: ", "shout: Returns the text in upper case."] {
            session.says(tool);
        }
        session
    }

    fn types(&mut self, line: &str) {
        let input = self.program.stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("the program reads");
    }

    /// Waits for a line that begins so.
    #[track_caller]
    fn says(&mut self, start: &str) {
        self.lines.wait_for(start, |line| line["noise"].as_str().is_some_and(|line| line.starts_with(start)));
    }

    /// Waits for a tool's answer and gives its text.
    #[track_caller]
    fn answers(&mut self) -> String {
        let answer = self.lines.wait_for("an answer", |line| line["content"].is_array());
        answer["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    fn extension_file(&self, path: &str) -> PathBuf {
        self.dir.path().join("project/.jackfield/extensions").join(path)
    }

    /// The living processes that have this home in their environment or this directory on their command line. Zombies
    /// have neither.
    fn processes(&self) -> usize {
        let place = self.dir.path().to_str().expect("UTF-8");
        let mentions = |file: PathBuf| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).contains(place);
        let processes = fs::read_dir("/proc").expect("Linux").flatten().map(|entry| entry.path());
        processes.filter(|process| mentions(process.join("environ")) || mentions(process.join("cmdline"))).count()
    }
}

#[test]
fn a_session_with_a_question_and_an_edit() {
    let mut session = Session::trusted();
    session.types(r#"shout {"text":"hi"}"#);
    assert_eq!(session.answers(), "HI");

    session.types(r#"note_import {"path":"todo.txt"}"#);
    session.says("notes-py wants read todo.txt for note_import: note_import reads the file that it is given [y/n]");
    session.types("y");
    assert_eq!(session.answers(), "imported 2 notes from todo.txt");
    session.types(r#"note_import {"path":"todo.txt"}"#);
    session.says("notes-py wants read todo.txt");
    session.types("n");
    let refused = session.answers();
    assert!(refused.starts_with("cannot read todo.txt: "), "{refused}");

    let script = session.extension_file("hello-sh/hello.sh");
    let text = fs::read_to_string(&script).expect("the script");
    let edited = text.replace("in upper case.", "louder.").replace("s/\\\\U/\\\\u/g'", "s/\\\\U/\\\\u/g; s/$/!/'");
    assert_eq!(edited.matches("s/$/!/").count(), 1, "the example has changed: {edited}");
    fs::write(&script, edited).expect("an edit");
    session.types("reload");
    session.says("reloaded hello-sh tool shout changed");
    session.says("shout: Returns the text louder.");
    session.types(r#"shout {"text":"hi"}"#);
    assert_eq!(session.answers(), "HI!");

    session.types("nosuch");
    session.says("error: ");
    assert!(session.processes() > 1, "extensions run");
    drop(session.program.stdin.take());
    assert_eq!(session.program.gone("its end with its input"), 0);
    assert_eq!(session.processes(), 0, "nothing is left running");
}

#[test]
fn a_killed_program_leaves_nothing_running() {
    let mut session = Session::trusted();
    session.types("note_list");
    assert_eq!(session.answers(), "no notes yet");
    assert!(session.processes() > 1, "extensions run");
    session.program.kill().expect("a kill");
    session.program.wait().expect("its end");
    eventually("the end of every process", || session.processes() == 0);
}

#[test]
fn without_trust_nothing_runs() {
    let session = Session::trusted();
    let home = session.dir.path().join("another-home");
    let output = Command::new(env!("CARGO_BIN_EXE_embed-rs"))
        .arg(session.dir.path().join("project"))
        .env("JACKFIELD_HOME", home)
        .env("HOME", session.dir.path().join("user"))
        .stdin(Stdio::null())
        .output()
        .expect("the example runs");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "trust the extensions of this project? [y/n]\n");
}
