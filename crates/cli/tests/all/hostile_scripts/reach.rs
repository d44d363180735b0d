//! What a script may not reach: it gets an error that it can catch, and the ledger has it.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::support::{Place, both, configured, file, folder, script, tool};

/// Source that tries something and says what came of it.
fn attempt(name: &str, what: &str) -> String {
    tool(
        name,
        &format!(
            "try {{ const got = await (async () => {{ {what} }})(); return 'GOT ' + JSON.stringify(got) }} \
             catch (error) {{ return `${{error.code ?? error.cause?.code}}: ${{error.message}}` }}"
        ),
    )
}

both! {
    fn files_outside_the_grant(place) {
        let sandbox = configured(place, "prompt", "cpu_ms = 5000");
        let secret = sandbox.path("secret.json");
        sandbox.write(&secret, r#"{"password": "hunter2"}"#);
        let module = sandbox.path("secret.mjs");
        sandbox.write(&module, "export const password = 'hunter2';\n");
        sandbox.write(&sandbox.user().join(".pi/agent/auth.json"), r#"{"key": "hunter2"}"#);
        sandbox.write(&sandbox.user().join(".pi/agent/package.json"), "{}");
        let own = folder(&sandbox, "bad");
        file(&sandbox, "bad", "own.json", r#"{"own": 1}"#);
        symlink(&secret, own.join("link.json")).expect("a link");
        symlink(sandbox.path(""), own.join("up")).expect("a link");
        let path = secret.display();
        let module = module.display();
        let tries = [
            ("read", format!("return (await import('node:fs')).readFileSync('{path}', 'utf8')")),
            ("promised", format!("return await (await import('node:fs/promises')).readFile('{path}', 'utf8')")),
            ("stream", format!("const fs = await import('node:fs'); let all = ''; \
                for await (const part of fs.createReadStream('{path}')) all += part; return all")),
            ("open", format!("const fs = await import('node:fs'); return fs.openSync('{path}', 'r')")),
            ("list", format!("return (await import('node:fs')).readdirSync('{}')", sandbox.path("").display())),
            ("dots", "return (await import('node:fs')).readFileSync('../secret.json', 'utf8')".to_owned()),
            ("url", format!("return (await import('node:fs')).readFileSync(new URL('file://{path}'), 'utf8')")),
            ("linked", format!("return (await import('node:fs')).readFileSync('{}', 'utf8')", own.join("link.json").display())),
            ("below_link", format!("return (await import('node:fs')).readFileSync('{}', 'utf8')", own.join("up/secret.json").display())),
            ("required", format!("return (await import('node:module')).createRequire(import.meta.url)('{path}')")),
            ("required_link", "return (await import('node:module')).createRequire(import.meta.url)('./link.json')".to_owned()),
            ("imported", format!("return (await import('{path}')).default")),
            ("imported_url", format!("return (await import('file://{path}')).default")),
            ("imported_link", "return (await import('./link.json')).default".to_owned()),
            ("imported_up", "return (await import('./up/secret.json')).default".to_owned()),
            ("imported_module", format!("return (await import('{module}')).password")),
            ("imported_dots", "return (await import('../../auth.json')).default".to_owned()),
            ("write", format!("(await import('node:fs')).writeFileSync('{path}', 'x')")),
            ("remove", format!("(await import('node:fs')).rmSync('{path}')")),
            ("link", format!("(await import('node:fs')).symlinkSync('{path}', '{}')", own.join("new.json").display())),
            ("exec", "return (await import('node:child_process')).execSync('echo hunter2', { encoding: 'utf8' })".to_owned()),
            ("spawn", "const c = await import('node:child_process'); return await new Promise((done, fail) => { \
                const p = c.spawn('echo', ['hunter2']); p.on('error', fail); p.on('close', done) })".to_owned()),
            ("pi_exec", "const { code, stderr } = await pi.exec('echo', ['hunter2']); throw Object.assign(new Error(stderr), { code: code === 1 ? 'EACCES' : code })".to_owned()),
            ("fetch", "return await (await fetch('http://127.0.0.1:9/')).text()".to_owned()),
            ("http", "const h = await import('node:http'); return await new Promise((done, fail) => \
                h.get('http://127.0.0.1:9/', done).on('error', fail))".to_owned()),
            ("connect", "const n = await import('node:net'); return await new Promise((done, fail) => \
                n.connect(9, '127.0.0.1', done).on('error', fail))".to_owned()),
            ("listen", "const n = await import('node:net'); return await new Promise((done, fail) => \
                n.createServer().on('error', fail).listen(0, () => done('listens')))".to_owned()),
        ];
        let mut source = attempt("own", "return (await import('./own.json')).default.own");
        for (name, what) in &tries {
            source += &attempt(&format!("try_{name}"), what);
        }
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        for (name, _) in &tries {
            let said = host.text(&format!("try_{name}"), json!({}));
            assert!(!said.contains("hunter2") && !said.starts_with("GOT"), "{name}: {said}");
            assert!(said.starts_with("EACCES"), "{name}: {said}");
        }
        assert_eq!(host.text("own", json!({})), "GOT 1");
        host.close();
        let (_, tail) = sandbox.json(&["ledger", "tail", "-n", "1000"]);
        let denied = |record: &&Value| record["data"].to_string().contains("denied");
        let denials = tail["records"].as_array().expect("a list").iter().filter(denied).count();
        assert!(denials >= tries.len(), "{denials} denials in {tail:#}");
        assert_eq!(std::fs::read_to_string(&secret).expect("still there"), r#"{"password": "hunter2"}"#);
    }
}

/// A permission for one file is no permission for its neighbours.
#[test]
fn an_import_that_is_allowed_opens_nothing_else() {
    let sandbox = configured(Place::Thread, "permissive", "cpu_ms = 5000");
    sandbox.write(&sandbox.project().join("data/one.json"), "1");
    sandbox.write(&sandbox.project().join("data/two.json"), "2");
    let one = sandbox.project().join("data/one.json");
    let two = sandbox.project().join("data/two.json");
    let source = attempt("one", &format!("return (await import('{}')).default", one.display()))
        + &attempt("two", &format!("return (await import('{}')).default", two.display()));
    script(&sandbox, "bad", &source);
    let mut host = sandbox.rpc(&[]);
    assert_eq!((host.text("one", json!({})), host.text("two", json!({}))), ("GOT 1".to_owned(), "GOT 2".to_owned()));
    host.close();
    let (_, tail) = sandbox.json(&["ledger", "tail", "-n", "1000"]);
    let text = tail.to_string();
    assert!(text.contains("data/one.json") && text.contains("data/two.json"), "{text}");
}
