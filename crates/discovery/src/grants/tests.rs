use std::fs;
use std::os::unix::fs::PermissionsExt;

use jackfield_protocol::{Capability, Scope};

use super::*;

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = Home::at(folder.path().join("home"));
    (folder, home)
}

fn new(extension: &str, power: Power, effect: Effect, project: Option<&str>) -> NewGrant {
    NewGrant {
        extension: extension.into(),
        capability: Capability::unlimited(power),
        effect,
        project: project.map(PathBuf::from),
    }
}

fn powers(grants: &[Grant]) -> Vec<Power> {
    grants.iter().map(|grant| grant.capability.power).collect()
}

/// Waits until what another process wrote is seen.
#[track_caller]
fn eventually(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition did not come true in time");
        std::thread::yield_now();
    }
}

#[test]
fn grants_apply_to_their_extension_and_project() {
    let (_folder, home) = home();
    let grants = Grants::open(&home).expect("no file is fine");
    assert_eq!(grants.list(), vec![]);
    grants.add(new("a", Power::Read, Effect::Allow, None)).expect("added");
    grants.add(new("a", Power::Exec, Effect::Deny, Some("/p"))).expect("added");
    grants.add(new("b", Power::Http, Effect::Allow, Some("/p"))).expect("added");
    let applying = |ext: &str, project: &str| powers(&grants.applying(&ext.into(), Path::new(project)));
    assert_eq!(applying("a", "/p"), [Power::Read, Power::Exec]);
    assert_eq!(applying("a", "/q"), [Power::Read]);
    assert_eq!(applying("a", "/p/sub"), [Power::Read]);
    assert_eq!(applying("b", "/p"), [Power::Http]);
    assert_eq!(applying("c", "/p"), []);
    let first = grants.applying(&"a".into(), Path::new("/p"));
    assert!(Arc::ptr_eq(&first, &grants.applying(&"a".into(), Path::new("/p"))), "the list is shared");
    let reopened = Grants::open(&home).expect("readable");
    assert_eq!(reopened.list(), grants.list());
    let mode = fs::metadata(home.grants()).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_same_grant_is_stored_once_and_the_last_word_counts() {
    let (_folder, home) = home();
    let grants = Grants::open(&home).expect("open");
    let scoped = |paths: [&str; 2]| {
        let mut grant = new("a", Power::Read, Effect::Allow, None);
        grant.capability.scope = Scope { paths: paths.map(str::to_owned).to_vec(), ..Scope::default() };
        grant
    };
    let first = grants.add(scoped(["src/**", "doc/**"])).expect("added");
    let mut again = scoped(["doc/**", "src/**"]);
    again.capability.reason = Some("because".into());
    assert_eq!(grants.add(again).expect("the same"), first);
    assert_eq!(grants.list().len(), 1);
    let denied = grants.add(NewGrant { effect: Effect::Deny, ..scoped(["src/**", "doc/**"]) }).expect("replaced");
    assert_eq!((denied.id.as_str(), denied.effect), (first.id.as_str(), Effect::Deny));
    assert_eq!(grants.list(), [denied]);
    let other = grants.add(new("a", Power::Read, Effect::Allow, None)).expect("another one");
    assert_ne!(other.id, first.id);
}

#[test]
fn revoking_takes_effect_at_once() {
    let (_folder, home) = home();
    let grants = Grants::open(&home).expect("open");
    let read = grants.add(new("a", Power::Read, Effect::Allow, None)).expect("added");
    let exec = grants.add(new("a", Power::Exec, Effect::Allow, None)).expect("added");
    let http = grants.add(new("b", Power::Http, Effect::Allow, None)).expect("added");
    assert_eq!(grants.applying(&"a".into(), Path::new("/")).len(), 2);
    assert_eq!(grants.revoke("a", Some(Power::Exec)).expect("revoked"), [exec]);
    assert_eq!(powers(&grants.applying(&"a".into(), Path::new("/"))), [Power::Read]);
    assert_eq!(grants.revoke(&read.id, None).expect("revoked"), [read]);
    assert_eq!(grants.revoke("nobody", None).expect("nothing to revoke"), vec![]);
    assert_eq!(grants.list(), [http]);
}

#[test]
fn several_hosts_agree() {
    let (_folder, home) = home();
    let one = Grants::open(&home).expect("open");
    let two = Grants::open(&home).expect("open");
    let applies = |grants: &Grants| grants.applying(&"a".into(), Path::new("/")).len();
    assert_eq!(applies(&two), 0);
    let grant = one.add(new("a", Power::Read, Effect::Allow, None)).expect("added");
    eventually(|| applies(&two) == 1);
    assert_eq!(two.revoke(&grant.id, None).expect("revoked").len(), 1);
    eventually(|| applies(&one) == 0);
    one.add(new("a", Power::Read, Effect::Allow, None)).expect("added");
    fs::remove_file(home.grants()).expect("removed");
    eventually(|| applies(&one) == 0 && applies(&two) == 0);
}

#[test]
fn concurrent_changes_are_not_lost() {
    let (_folder, home) = home();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let home = &home;
            scope.spawn(move || {
                let grants = Grants::open(home).expect("open");
                for n in 0..10 {
                    let extension = format!("e{thread}-{n}");
                    grants.add(new(&extension, Power::Read, Effect::Allow, None)).expect("added");
                }
            });
        }
    });
    assert_eq!(Grants::open(&home).expect("open").list().len(), 40);
}

#[test]
fn a_damaged_file_grants_nothing_and_is_not_overwritten() {
    for text in ["", "{", "[]", r#"{"version":2,"grants":[]}"#, r#"{"version":1,"grants":[{"extension":"a"}]}"#] {
        let (_folder, home) = home();
        let running = Grants::open(&home).expect("open");
        running.add(new("a", Power::Read, Effect::Allow, None)).expect("added");
        running.add(new("a", Power::Exec, Effect::Deny, None)).expect("added");
        fs::write(home.grants(), text).expect("written");

        let error = Grants::open(&home).expect_err("damaged").to_string();
        assert!(error.contains("grants.json") && error.contains("repair"), "{error}");
        let grants = Grants::open_or_none(&home);
        assert!(grants.problem().is_some());
        assert_eq!(grants.applying(&"a".into(), Path::new("/")).len(), 0);
        assert!(grants.add(new("a", Power::Http, Effect::Allow, None)).is_err());
        assert_eq!(fs::read_to_string(home.grants()).expect("readable"), text);

        // A host that was running forgets what was allowed, not what was denied.
        eventually(|| powers(&running.applying(&"a".into(), Path::new("/"))) == [Power::Exec]);
        assert!(running.problem().is_some());

        fs::remove_file(home.grants()).expect("removed");
        grants.add(new("a", Power::Http, Effect::Allow, None)).expect("repaired");
        assert!(grants.problem().is_none());
        eventually(|| running.problem().is_none() && running.applying(&"a".into(), Path::new("/")).len() == 1);
    }
}
