//! A home and a project of their own for one test, and the binary run in them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Rpc, misbehaving, processes_mentioning};

/// A temporary home and project.
pub struct Sandbox {
    dir: TempDir,
    binary: PathBuf,
    env: Vec<(String, String)>,
}

/// What a run of the binary gave.
#[derive(Debug)]
pub struct Output {
    /// The exit code; -1 for a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Asserts the exit code.
    ///
    /// # Panics
    /// When it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

impl Sandbox {
    /// A fresh one for this binary.
    ///
    /// # Panics
    /// When the file system does not play along.
    pub fn new(binary: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("jackfield-test").tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("project")).expect("a project");
        Self { dir, binary: binary.into(), env: Vec::new() }
    }

    /// Sets a variable for every run.
    pub fn env(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// The home of jackfield.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The home directory of the user, which is not there unless a test makes it.
    pub fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    /// The project.
    pub fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// Somewhere else to put things.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The binary with home and project set, ready for more arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--home").arg(self.home()).arg("--project").arg(self.project()).args(args);
        // The extensions of whoever runs the tests are none of theirs.
        command.env("HOME", self.user()).env_remove("PI_CODING_AGENT_DIR");
        command.envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(self.project());
        command
    }

    /// Runs the binary to its end, without a terminal.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run(&self, args: &[&str]) -> Output {
        self.run_with_input(args, "")
    }

    /// Runs the binary with something on standard input.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that does not read its input may be gone already.
        stdin.write_all(input.as_bytes()).ok();
        drop(stdin);
        let output = child.wait_with_output().expect("the binary ends");
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs with `--json` and gives exit code and answer.
    ///
    /// # Panics
    /// When the answer is not JSON.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let mut words = vec!["--json"];
        words.extend(args);
        let output = self.run(&words);
        (output.code, output.json())
    }

    /// Has an extension made by [`Sandbox::misbehave`] make a host call. Gives its output, or the error's code and message.
    ///
    /// # Panics
    /// When the extension's tool does not answer.
    ///
    /// # Errors
    /// What the host answers.
    #[track_caller]
    pub fn host_call(&self, flags: &[&str], call: &Value) -> Result<Value, (String, String)> {
        let args = call.to_string();
        let (code, answer) = self.json(&[flags, &["call", "host_call", "--args", &args]].concat());
        assert_eq!(code, 0, "{answer:#}");
        let frame: Value = serde_json::from_str(crate::text(&answer)).expect("a frame");
        let word = |key: &str| frame["error"][key].as_str().unwrap_or_default().to_owned();
        match frame["is_error"] == json!(true) {
            true => Err((word("code"), word("message"))),
            false => Ok(frame["output"].clone()),
        }
    }

    /// Runs a call with `--json` and gives the first text of its answer.
    ///
    /// # Panics
    /// When the call fails.
    #[track_caller]
    pub fn called(&self, args: &[&str]) -> String {
        let (code, answer) = self.json(args);
        assert_eq!(code, 0, "{answer:#}");
        crate::text(&answer).to_owned()
    }

    /// The names of all tools, in the order in which they are listed, with these arguments before `tools`.
    ///
    /// # Panics
    /// When there is no list.
    #[track_caller]
    pub fn tool_names(&self, args: &[&str]) -> Vec<String> {
        let (code, listed) = self.json(&[args, &["tools"]].concat());
        assert_eq!(code, 0, "{listed:#}");
        let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("no tools: {listed:#}"));
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// Writes a Python tool into the home and gives its file.
    pub fn python_tool(&self, name: &str, text: &str) -> PathBuf {
        let file = self.home().join("extensions/tools").join(format!("{name}.py"));
        self.write(&file, text);
        file
    }

    /// A host that stays, with these further arguments.
    pub fn rpc(&self, args: &[&str]) -> Rpc {
        let mut words = vec!["rpc"];
        words.extend(args);
        Rpc::start(self.command(&words))
    }

    /// Writes a file, its folder included.
    ///
    /// # Panics
    /// When it cannot.
    pub fn write(&self, file: &Path, text: &str) {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }

    /// Puts an extension that misbehaves in frames into `dir`, in the given modes, with these further manifest keys.
    pub fn misbehave_at(&self, dir: &Path, name: &str, modes: &str, extra: Value) -> PathBuf {
        let mut manifest = json!({
            "name": name, "version": "1.0.0", "exec": "python3",
            "args": [misbehaving("misbehave.py"), modes], "enabled": true,
        });
        if let (Some(manifest), Value::Object(extra)) = (manifest.as_object_mut(), extra) {
            manifest.extend(extra);
        }
        self.write(&dir.join("extension.json"), &manifest.to_string());
        dir.to_path_buf()
    }

    /// Installs an extension that misbehaves in the home, with a manifest of our own format that says how long it has to
    /// stop.
    pub fn misbehave_native(&self, name: &str, modes: &str, stop_grace_ms: u64) -> PathBuf {
        let dir = self.home().join("extensions").join(name);
        let script = misbehaving("misbehave.py");
        let manifest = format!(
            "id = \"{name}\"\nversion = \"1.0.0\"\n\n[run]\ncommand = \"python3\"\n\
             args = [{:?}, \"{modes}\", {:?}]\n\n[limits]\nstop_grace_ms = {stop_grace_ms}\n",
            script.display().to_string(),
            format!("of:{}", self.home().display())
        );
        self.write(&dir.join("extension.toml"), &manifest);
        dir
    }

    /// The living processes of extensions that were installed with [`Sandbox::misbehave_native`]; keepers too, hosts not.
    pub fn processes(&self) -> Vec<u32> {
        processes_mentioning(&format!("of:{}", self.home().display()))
    }

    /// Puts a well-behaved extension into `dir`, in shell because that starts at once: every tool answers with the
    /// extension's name, every command displays it.
    ///
    /// # Panics
    /// When it cannot.
    pub fn plain_at(&self, dir: &Path, name: &str, tools: &[&str], commands: &[&str]) -> PathBuf {
        let mut script = "#!/bin/sh\nemit() { printf '%s\\n' \"$1\"; }\n".to_owned();
        let mut emit = |frame: Value| script.push_str(&format!("emit '{frame}'\n"));
        emit(json!({ "type": "hello", "name": name, "version": "1.0.0", "capabilities": ["commands", "tools"] }));
        for tool in tools {
            emit(
                json!({ "type": "register_tool", "name": tool, "description": "Says who it is.", "schema": { "type": "object" } }),
            );
        }
        for command in commands {
            emit(json!({ "type": "register_command", "name": command, "description": "Says who it is." }));
        }
        emit(json!({ "type": "ready" }));
        script.push_str(&format!(
            r#"while IFS= read -r line; do
    id=${{line#*\"id\":\"}}
    id=${{id%%\"*}}
    case $line in
        '{{"type":"tool_call",'*)
            emit '{{"type":"tool_result","id":"'"$id"'","content":[{{"type":"text","text":"{name}"}}]}}' ;;
        '{{"type":"command_invoked",'*)
            emit '{{"type":"command_response","id":"'"$id"'","action":"display","display":"{name}"}}' ;;
        '{{"type":"shutdown"'*) emit '{{"type":"shutdown_ack"}}'; exit 0 ;;
    esac
done
"#
        ));
        self.write(&dir.join("run.sh"), &script);
        let manifest = json!({ "name": name, "version": "1.0.0", "exec": "sh", "args": ["run.sh"] });
        self.write(&dir.join("extension.json"), &manifest.to_string());
        dir.to_path_buf()
    }

    /// Installs a well-behaved extension in the home.
    pub fn plain(&self, name: &str, tools: &[&str], commands: &[&str]) -> PathBuf {
        self.plain_at(&self.home().join("extensions").join(name), name, tools, commands)
    }

    /// Installs an extension that misbehaves in the home.
    pub fn misbehave(&self, name: &str, modes: &str) -> PathBuf {
        self.misbehave_at(&self.home().join("extensions").join(name), name, modes, json!({}))
    }

    /// Installs one that misbehaves in JSON-RPC in the home.
    pub fn misbehave_rpc(&self, id: &str, mode: &str) -> PathBuf {
        let dir = self.home().join("extensions").join(id);
        let script = misbehaving("misbehave_rpc.py");
        let manifest = format!(
            "[plugin]\nid = \"{id}\"\nversion = \"1.0.0\"\n\n[capabilities]\ntools = [\"echo\"]\n\n\
             [transport]\nkind = \"stdio\"\ncommand = \"python3\"\nargs = [\"{}\", \"{mode}\"]\n\n[context]\npassthrough = true\n",
            script.display()
        );
        self.write(&dir.join("plugin.toml"), &manifest);
        dir
    }
}
