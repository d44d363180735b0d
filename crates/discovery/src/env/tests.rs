use super::*;
use crate::testing::{Place, zot_manifest};

fn env_of(format: Format, requires: &[&str], host: &[(&str, &str)]) -> BTreeMap<String, String> {
    let place = Place::new();
    let dir = place.global("x", &zot_manifest("x"));
    let mut manifest = crate::load_one(&dir).unwrap().manifest.as_ref().clone();
    manifest.format = format;
    manifest.requires.env = requires.iter().map(|name| (*name).to_owned()).collect();
    let host: BTreeMap<String, String> = host.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    child_env(&manifest, &host, Path::new("/ext/x"), Path::new("/data/x")).into_iter().collect()
}

#[test]
fn secrets_stay_with_the_host_unless_declared() {
    let secret = [
        "GITHUB_TOKEN",
        "TOKEN",
        "KEY",
        "SECRET",
        "PASSWORD",
        "brave_api_key",
        "DB_PASSWORD",
        "X_PASSWD",
        "X_PWD",
        "MY_CREDENTIALS",
        "X_PAT",
        "X_AUTH",
        "X_APIKEY",
        "APIKEY_FILE",
        "X_BEARER",
        "A_SESSION",
        "PRIVATE_KEY_PATH",
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "SSH_AUTH_SOCK",
        "MY_TOKEN_FILE",
        "MY_KEYS",
        "SECRETS",
        "SOME_ACCESS_KEY_2",
    ];
    for name in secret {
        assert!(!env_of(Format::Zot, &[], &[(name, "v")]).contains_key(name), "{name}");
        assert_eq!(env_of(Format::Zot, &[name], &[(name, "v")]).get(name).map(String::as_str), Some("v"), "{name}");
    }
    for name in ["PATH", "HOME", "LANG", "TERM", "KEYBOARD", "OLDPWD", "EDITOR", "MONKEY"] {
        assert!(env_of(Format::Zot, &[], &[(name, "v")]).contains_key(name), "{name}");
    }
}

#[test]
fn urls_with_passwords_are_secrets_whatever_their_name() {
    for (value, passes) in [
        ("postgres://u:p@h/db", false),
        ("prefix redis://:p@h", false),
        ("https://h/path@x:y", true),
        ("https://user@h/", true),
        ("https://h:8080/", true),
    ] {
        assert_eq!(
            env_of(Format::Zot, &[], &[("DATABASE_URL", value)]).contains_key("DATABASE_URL"),
            passes,
            "{value}"
        );
    }
}

#[test]
fn the_child_learns_who_it_is() {
    let host = [("JACKFIELD_EXTENSION_ID", "someone else"), ("PWD", "/host"), ("BAD=NAME", "x"), ("NUL", "a\0b")];
    let env = env_of(Format::Zot, &[], &host);
    let expected = [
        ("AGENT_EXTENSION_ID", "x"),
        ("AGENT_VERSION", AGENT_VERSION),
        ("JACKFIELD", "1"),
        ("JACKFIELD_DATA_DIR", "/data/x"),
        ("JACKFIELD_EXTENSION_ID", "x"),
        ("PWD", "/ext/x"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    assert_eq!(env, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    let nexo = env_of(Format::Nexo, &[], &[]);
    assert_eq!(nexo["NEXO_EXTENSION_STATE_ROOT"], "/data/x");
}

#[test]
fn secrets_that_logs_must_not_show() {
    let host = [
        ("A_TOKEN", "a-long-secret-value"),
        ("B_TOKEN", "short"),
        ("C_URL", "https://me:passw0rd@h/"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_SECRET_ACCESS_KEY", "aws-secret"),
        ("HOME", "/home/someone"),
        ("SSH_AUTH_SOCK", "/tmp/agent.sock"),
    ];
    let host = host.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assert_eq!(known_secrets(&host), ["a-long-secret-value", "aws-secret", "passw0rd"]);
}
