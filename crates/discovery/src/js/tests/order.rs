//! Levels, settings, installed packages, trust, names that collide, and what counts as a change.

use std::path::{Path, PathBuf};

use super::{place, script, scripts};
use crate::testing::{Place, check, says, write};
use crate::{DiagnosticLevel, Report};

fn ids(report: &Report) -> Vec<String> {
    report.extensions.iter().map(|found| found.manifest.id.to_string()).collect()
}

fn pi(place: &Place) -> PathBuf {
    place.project.join(".pi")
}

#[test]
fn pis_order_within_and_between_levels() {
    let (mut place, agent) = place();
    let root = place.home.parent().unwrap().to_owned();
    for (base, who) in [(pi(&place), "p"), (agent.clone(), "u")] {
        script(&base.join(format!("extensions/{who}-auto.ts")));
        script(&base.join(format!("{who}-named/z-{who}.ts")));
        script(&base.join(format!("{who}-named/a-{who}.ts")));
        let package = base.join(format!("npm/node_modules/{who}-package"));
        script(&package.join("index.ts"));
        write(
            &package.join("package.json"),
            format!(r#"{{"name": "{who}-package", "pi": {{"extensions": ["index.ts"]}}}}"#),
        );
        let settings =
            format!(r#"{{"extensions": ["{who}-named"], "packages": ["npm:{who}-package@1.0.0"], "theme": "dark"}}"#);
        write(&base.join("settings.json"), settings);
    }
    script(&root.join("flag.ts"));
    place.input.ext = vec![root.join("flag.ts")];
    place.trust();
    let report = place.discover();
    assert_eq!(report.diagnostics, []);
    let expected =
        ["flag", "a-p", "z-p", "p-auto", "p-package", "a-u", "z-u", "u-auto", "u-package"].map(str::to_owned).to_vec();
    assert_eq!(ids(&report), expected);
    assert!(report.extensions.iter().all(super::Found::is_active));
    assert!(report.settings.roots.contains(&agent.join("extensions")));
}

#[test]
fn a_project_waits_for_trust_and_hides_nothing_before() {
    let (place, agent) = place();
    script(&pi(&place).join("extensions/a.ts"));
    let package = pi(&place).join("npm/node_modules/p");
    script(&package.join("index.ts"));
    write(&package.join("package.json"), r#"{"name": "p", "pi": {"extensions": ["index.ts"]}}"#);
    write(&pi(&place).join("settings.json"), r#"{"packages": ["npm:p"], "extensions": ["../tools/t.ts"]}"#);
    write(&place.project.join("tools/t.ts"), "import './lib/x.ts'");
    write(&place.project.join("tools/lib/x.ts"), "1");
    let users = agent.join("npm/node_modules/p");
    script(&users.join("index.ts"));
    write(&users.join("package.json"), r#"{"name": "p", "pi": {"extensions": ["index.ts"]}}"#);
    write(&agent.join("settings.json"), r#"{"packages": ["npm:p"]}"#);
    let waiting = ["project t untrusted", "project a untrusted", "project p untrusted", "global p active"];
    check(&place.discover(), &waiting);
    place.trust();
    let trusted = ["project t active", "project a active", "project p active", "global p shadowed"];
    check(&place.discover(), &trusted);
    // Whatever the code comes from is vouched for: scripts and their imports, packages and all beside them, the settings.
    for changed in [
        pi(&place).join("extensions/a.ts"),
        package.join("index.ts"),
        pi(&place).join("npm/node_modules/dependency/index.js"),
        place.project.join("tools/t.ts"),
        place.project.join("tools/lib/x.ts"),
    ] {
        write(&changed, "import './lib/x.ts' // changed");
        check(&place.discover(), &waiting);
        place.trust();
        check(&place.discover(), &trusted);
    }
    write(&pi(&place).join("settings.json"), r#"{"packages": ["npm:p"], "extensions": ["../tools/t.ts"], "x": 1}"#);
    check(&place.discover(), &waiting);
}

#[test]
fn the_users_directory_can_be_elsewhere() {
    let (mut place, agent) = place();
    script(&agent.join("extensions/usual.ts"));
    let other = place.home.parent().unwrap().join("user/other");
    script(&other.join("extensions/moved.ts"));
    place.input.env.insert("PI_CODING_AGENT_DIR".to_owned(), "~/other".to_owned());
    check(&place.discover(), &["global moved active"]);
    place.input.env.clear();
    check(&place.discover(), &[]);
}

#[test]
fn settings_leave_out_and_take_in() {
    let (place, agent) = place();
    for file in ["extensions/a.ts", "extensions/b.ts", "lib/c.ts", "lib/d.ts", "one.mts"] {
        script(&agent.join(file));
    }
    let home_script = agent.parent().unwrap().parent().unwrap().join("at-home.ts");
    script(&home_script);
    write(
        &agent.join("settings.json"),
        r#"{"extensions": ["lib", "./one.mts", "~/at-home.ts", "gone.ts", "builtin:mcp", "!d.ts", "-extensions/b.ts"]}"#,
    );
    let report = place.discover();
    check(
        &report,
        &[
            "global c active",
            "global d disabled",
            "global one active",
            "global at-home active",
            "global a active",
            "global b disabled",
        ],
    );
    says(&report, DiagnosticLevel::Warn, &agent.join("settings.json"), "`gone.ts` leads nowhere");
    write(&agent.join("settings.json"), "{");
    let report = place.discover();
    check(&report, &["global a active", "global b active"]);
    says(&report, DiagnosticLevel::Warn, &agent.join("settings.json"), "pi's settings are ignored");
}

#[test]
fn packages_of_settings_can_be_filtered() {
    let (place, agent) = place();
    for file in ["extensions/a.ts", "extensions/b.ts"] {
        script(&agent.join("pack").join(file));
    }
    write(&agent.join("pack/package.json"), r#"{"name": "pack"}"#);
    let standings = |filter: &str| {
        write(&agent.join("settings.json"), format!(r#"{{"packages": [{{"source": "./pack"{filter}}}]}}"#));
        let report = place.discover();
        report.extensions.iter().map(|found| format!("{} {}", found.manifest.id, found.is_active())).collect::<Vec<_>>()
    };
    assert_eq!(standings(""), ["pack-a true", "pack-b true"]);
    assert_eq!(standings(r#", "extensions": ["extensions/a.ts"]"#), ["pack-a true", "pack-b false"]);
    assert_eq!(standings(r#", "extensions": ["!a.ts"]"#), ["pack-a false", "pack-b true"]);
    assert_eq!(standings(r#", "extensions": []"#), ["pack-a false", "pack-b false"]);
    assert_eq!(standings(r#", "autoload": false"#), Vec::<String>::new());
    assert_eq!(standings(r#", "autoload": false, "extensions": ["+extensions/b.ts"]"#), ["pack-b true"]);
}

#[test]
fn packages_that_are_not_installed_are_named() {
    let (place, agent) = place();
    let git = agent.join("git/h.org/me/tools");
    script(&git.join("index.ts"));
    write(
        &agent.join("settings.json"),
        r#"{"packages": ["npm:gone@1", "git:h.org/me/tools@v1", "git:h.org/me/other", "npm:../../x", 3]}"#,
    );
    let report = place.discover();
    check(&report, &["global tools active"]);
    let file = agent.join("settings.json");
    says(
        &report,
        DiagnosticLevel::Warn,
        &file,
        "package npm:gone is not installed; run `jackfield ext install npm:gone`",
    );
    says(&report, DiagnosticLevel::Warn, &file, "package git:h.org/me/other is not installed");
    says(&report, DiagnosticLevel::Warn, &file, "packages[3] is ignored");
    says(&report, DiagnosticLevel::Warn, &file, "packages[4] is ignored");
}

#[test]
fn names_that_collide_are_kept_apart() {
    let (mut place, agent) = place();
    script(&agent.join("extensions/todo.ts"));
    script(&agent.join("extensions/todo/index.ts"));
    script(&pi(&place).join("extensions/todo.ts"));
    place.trust();
    let report = place.discover();
    let found = ids(&report);
    let user = |name: &str| agent.join("extensions").join(name).display().to_string();
    assert_eq!(
        scripts(&report, &pi(&place)),
        ["extensions/todo.ts".to_owned(), user("todo/index.ts"), user("todo.ts")]
    );
    // The user's first one has the plain name, whatever a project brings.
    assert_eq!(found[1], "todo");
    for other in [&found[0], &found[2]] {
        assert!(other.starts_with("todo-") && other.len() == "todo-".len() + 6, "{other}");
    }
    assert_ne!(found[0], found[2]);
    assert!(report.extensions.iter().all(super::Found::is_active), "pi would load all of them");
    assert_eq!(ids(&place.discover()), found, "ids stay");
    // A flag takes the place of an installed one, and is not there twice.
    place.input.ext = vec![agent.join("extensions/todo.ts")];
    let report = place.discover();
    assert_eq!(report.extensions.iter().filter(|found| found.place() == agent.join("extensions/todo.ts")).count(), 1);
}

#[test]
fn what_counts_as_a_change() {
    let (place, agent) = place();
    let dir = agent.join("extensions");
    write(&dir.join("a.ts"), "import './lib/a.ts'");
    write(&dir.join("lib/a.ts"), "1");
    write(&dir.join("b.ts"), "2");
    let package = dir.join("pack");
    write(&package.join("package.json"), r#"{"name": "pack", "pi": {"extensions": ["dist/index.js"]}}"#);
    write(&package.join("dist/index.js"), "3");
    write(&package.join("node_modules/x/index.js"), "4");
    let hashes = || {
        let report = place.discover();
        let hash = |id: &str| {
            let found = report.extensions.iter().find(|found| found.manifest.id.as_str() == id).unwrap();
            assert!(found.places().is_some_and(|places| places.contains(&found.place())));
            found.read_hash()
        };
        [hash("a"), hash("b"), hash("pack")]
    };
    let first = hashes();
    assert_eq!(hashes(), first);
    let changed = |file: &Path| {
        let before = hashes();
        write(file, "import './lib/a.ts' // changed");
        let after = hashes();
        let differs = [0, 1, 2].map(|at| before[at] != after[at]);
        (differs[0], differs[1], differs[2])
    };
    assert_eq!(changed(&dir.join("lib/a.ts")), (true, false, false));
    assert_eq!(changed(&dir.join("a.ts")), (true, false, false));
    assert_eq!(changed(&dir.join("b.ts")), (false, true, false));
    assert_eq!(changed(&package.join("dist/index.js")), (false, false, true));
    assert_eq!(changed(&package.join("package-lock.json")), (false, false, true));
    assert_eq!(changed(&package.join("node_modules/x/index.js")), (false, false, false));
    assert_eq!(changed(&dir.join("unrelated.md")), (false, false, false));
}
