use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::DiagnosticLevel;
use crate::testing::{Place, write, zot_manifest};

fn state(place: &Place) -> TrustState {
    Trust::load(&place.input.home).state(&place.project)
}

#[test]
fn a_project_without_extensions_needs_none() {
    let place = Place::new();
    assert_eq!(state(&place), TrustState::Trusted);
    write(&place.project.join("extensions/README"), "of another kind");
    write(&place.project.join("extensions.yaml"), "extensions: {}\n");
    fs::create_dir_all(place.project.join(".zot/extensions/empty")).unwrap();
    assert_eq!(state(&place), TrustState::Trusted);
}

#[test]
fn trust_is_given_kept_and_taken() {
    let place = Place::new();
    place.zot("a", &zot_manifest("a"));
    assert_eq!(state(&place), TrustState::Untrusted);
    let mut trust = Trust::load(&place.input.home);
    trust.trust(&place.project).unwrap();
    assert_eq!(trust.state(&place.project), TrustState::Trusted);
    assert_eq!(state(&place), TrustState::Trusted);
    let mode = fs::metadata(place.home.join("trust.json")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    // By another name it is the same project.
    let alias = place.home.join("alias");
    symlink(&place.project, &alias).unwrap();
    assert_eq!(trust.state(&alias), TrustState::Trusted);
    assert!(trust.revoke(&alias).unwrap());
    assert!(!trust.revoke(&place.project).unwrap());
    assert_eq!(state(&place), TrustState::Untrusted);
    assert!(matches!(trust.trust(&place.home.join("gone")), Err(TrustError::NoProject { .. })));
}

/// Whatever could change what runs takes the trust away.
#[test]
fn every_change_counts() {
    type Change = fn(&Place);
    let changes: [(&str, Change); 9] = [
        ("content", |place| write(&place.project.join(".zot/extensions/a/run.sh"), "TWO")),
        ("executable", |place| {
            let file = place.project.join(".zot/extensions/a/run.sh");
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("build directory", |place| write(&place.project.join(".zot/extensions/a/dist/x"), "TWO")),
        ("byte code", |place| write(&place.project.join(".zot/extensions/a/__pycache__/x.pyc"), "x")),
        ("link target", |place| {
            let link = place.project.join(".zot/extensions/a/link");
            fs::remove_file(&link).unwrap();
            symlink("other", &link).unwrap();
        }),
        ("removed", |place| fs::remove_file(place.project.join(".zot/extensions/a/run.sh")).unwrap()),
        ("new extension", |place| drop(place.nexo("n", "n"))),
        ("settings", |place| write(&place.project.join("extensions.yaml"), "extensions: {max_depth: 4}\n")),
        ("renamed", |place| {
            let folder = place.project.join(".zot/extensions");
            fs::rename(folder.join("a"), folder.join("b")).unwrap();
        }),
    ];
    for (name, change) in changes {
        let place = Place::new();
        let dir = place.zot("a", &zot_manifest("a"));
        write(&dir.join("run.sh"), "ONE");
        write(&dir.join("dist/x"), "ONE");
        symlink("run.sh", dir.join("link")).unwrap();
        place.trust();
        assert_eq!(state(&place), TrustState::Trusted, "{name}");
        change(&place);
        assert_eq!(state(&place), TrustState::Changed, "{name}");
    }
}

#[test]
fn a_damaged_record_trusts_nothing_and_can_be_replaced() {
    let place = Place::new();
    place.zot("a", &zot_manifest("a"));
    place.trust();
    let file = place.home.join("trust.json");
    let whole = fs::read(&file).unwrap();
    for damage in
        [b"{".to_vec(), vec![0xff; 9], whole[..whole.len() / 2].to_vec(), b"{\"version\":2,\"projects\":{}}".to_vec()]
    {
        fs::write(&file, damage).unwrap();
        let trust = Trust::load(&place.input.home);
        assert_eq!(trust.state(&place.project), TrustState::Untrusted);
        let diagnostic = trust.diagnostic().unwrap();
        assert_eq!((diagnostic.level, &diagnostic.path), (DiagnosticLevel::Error, &file));
        assert!(place.discover().diagnostics.contains(diagnostic));
    }
    place.trust();
    assert_eq!(state(&place), TrustState::Trusted);
}

#[test]
fn two_hosts_do_not_undo_each_other() {
    let place = Place::new();
    place.zot("a", &zot_manifest("a"));
    let other = place.home.join("other");
    write(&other.join(".zot/extensions/b/extension.json"), zot_manifest("b"));
    let (mut one, mut two) = (Trust::load(&place.input.home), Trust::load(&place.input.home));
    one.trust(&place.project).unwrap();
    two.trust(&other).unwrap();
    let both = Trust::load(&place.input.home);
    assert_eq!(both.projects().count(), 2);
    assert_eq!(both.state(&place.project), TrustState::Trusted);
}
